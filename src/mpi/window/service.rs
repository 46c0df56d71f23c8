//! Progress of requests on windows of this process: a part of every poll.

use crate::device::Device;
use crate::mpi::Mpi;

impl<D: Device> Mpi<D> {
    /// Handles requests of other processes on all windows; the number of events.
    #[cold]
    pub(crate) fn serve_windows(&mut self) -> usize {
        let before = self.engine.events();
        if !self.windows.needs_service(before) {
            return 0;
        }
        let booleans = self.objects.fortran.booleans();
        for window in self.windows.all_mut() {
            let mapped = window.mapped.as_ref();
            let (channel, regions) = (&window.channel, &window.regions);
            window.target.serve(&mut self.engine, channel, regions, mapped, booleans);
        }
        usize::from(self.engine.events() != before)
    }
}
