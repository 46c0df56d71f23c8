//! Progress of requests on windows of this process: a part of every poll.

use crate::device::Device;
use crate::engine::Engine;
use crate::mpi::Mpi;
use crate::mpi::window::Window;

impl<D: Device> Mpi<D> {
    /// Handles requests of other processes on windows; the number of events. Most windows have nothing to
    /// do, and a program may have many: they are not looked at.
    #[cold]
    pub(crate) fn serve_windows(&mut self) -> usize {
        let before = self.engine.events();
        if !self.windows.needs_service(before) {
            return 0;
        }
        let booleans = self.objects.fortran.booleans();
        let engine = &mut self.engine;
        self.windows.serve_active(|window| {
            if window.advance_words(engine) | window.origin.collect_accesses(engine) {
                engine.note_event();
            }
            let mapped = window.mapped.as_ref();
            let (channel, regions) = (&window.channel, &window.regions);
            window.target.serve(engine, channel, regions, mapped, booleans);
            if window.target.has_hand_over() {
                // Another rank knows of a failure.
                window.hand_locks_over(engine);
            }
            if window.target.is_contended() {
                // The other rank wakes nobody: this process does not sleep.
                engine.note_event();
            }
            window.target.is_busy() || window.awaits_turn()
        });
        usize::from(self.engine.events() != before)
    }
}

impl Window {
    /// Looks at words of the segment that calls of this process wait for; whether there is news.
    fn advance_words<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let Some(mapped) = &mut self.mapped else { return false };
        let has_lock = mapped.is_queued() && mapped.advance(engine, &self.channel);
        has_lock || self.target.posts.has_news(mapped) || self.target.completes.has_news(mapped)
    }
}
