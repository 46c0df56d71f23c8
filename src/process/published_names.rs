//! Published names (MPI 5.0 §11.9.4): by the launcher, and by a name server for several jobs.
//!
//! ```text
//!   process ──> mpirun of this library ──> name server           mpirun knows both
//!           ├─> another launcher, or its own names if there is none
//!           └─> name server of SUIRO_NAME_SERVER                 without this mpirun
//! ```

use std::env;
use std::sync::Arc;

use parking_lot::Mutex;
use platform::base::{ErrorClass, MpiError, Result};
pub(crate) use platform::bootstrap::NameScope;
use platform::bootstrap::{Client, NamePlace, NameReply, NameRequest, NameService};
use platform::names::{NAME_SERVER, NameServerAddress, NameServerLink};

use super::{Process, running_mpi};

/// The publisher of the names of a process without a launcher.
const SELF: u32 = 0;

/// Names that the launcher does not serve.
#[derive(Default)]
pub(super) struct PublishedNames {
    /// Those of a process without a launcher.
    own: NameService,
    /// The connection to the name server, whose end removes the names of this process there.
    server: Option<Arc<Mutex<NameServerLink>>>,
}

impl Process {
    /// Publishes a port under a name; `replaces`: in place of the port that this job has published.
    ///
    /// # Errors
    /// `Service` if the name is taken, or the name server cannot be reached.
    pub(crate) fn publish(
        &self, service: &str, port: &str, scope: NameScope, replaces: bool,
    ) -> Result {
        let request = NameRequest::publish(service, port).within(scope).replacing(replaces);
        match self.serve_name(request)? {
            NameReply::Done | NameReply::Port(_) => Ok(()),
            NameReply::Refused(why) => Err(ErrorClass::Service
                .error(format!("the name {service:?} cannot be published: {why}"))),
            NameReply::Failed(why) => Err(ErrorClass::Service.error(why)),
        }
    }

    /// The port that is published under a name.
    ///
    /// # Errors
    /// `Name` if there is none; `Service` if the name server cannot be reached.
    pub(crate) fn lookup(&self, service: &str, scope: NameScope) -> Result<String> {
        match self.serve_name(NameRequest::lookup(service).within(scope))? {
            NameReply::Port(port) => Ok(port),
            NameReply::Done | NameReply::Refused(_) => Err(ErrorClass::Name.error(format!(
                "no port is published under the name {service:?}: expected MPI_Publish_name by a \
                 process of this job, of one that has started it, or of one with the same name server"
            ))),
            NameReply::Failed(why) => Err(ErrorClass::Service.error(why)),
        }
    }

    /// Removes a published name.
    ///
    /// # Errors
    /// `Service` if this job has published none, or the name server cannot be reached.
    pub(crate) fn unpublish(&self, service: &str, scope: NameScope) -> Result {
        match self.serve_name(NameRequest::unpublish(service).within(scope))? {
            NameReply::Done | NameReply::Port(_) => Ok(()),
            NameReply::Refused(why) => {
                Err(ErrorClass::Service
                    .error(format!("the name {service:?} cannot be removed: {why}")))
            }
            NameReply::Failed(why) => Err(ErrorClass::Service.error(why)),
        }
    }

    fn serve_name(&self, request: NameRequest) -> Result<NameReply> {
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        let names = &mut running.names;
        let mut launcher = running.launcher.as_mut();
        if let Some(own) = launcher.as_mut().filter(|it| it.attributes().is_own_launcher) {
            return own.name(request);
        }
        let server = names.server()?;
        let asks_here = server.is_some() && request.scope() == NameScope::Any;
        let is_here = asks_here && names.is_here(launcher.as_deref_mut(), request.service())?;
        match request.place(server.is_some(), is_here) {
            Err(reply) => Ok(reply),
            Ok(NamePlace::Job) => names.serve_here(launcher, request),
            Ok(NamePlace::Server) => {
                // A server may be slow to answer: other threads go on.
                drop(state);
                let server = server.ok_or_else(missing_server)?;
                let reply = server.lock().ask_and_wait(request.into_encoded());
                Ok(reply.into_decoded())
            }
        }
    }
}

impl PublishedNames {
    /// The connection to the server that the environment names, if it does.
    ///
    /// # Errors
    /// `Service` for a variable with a wrong value.
    fn server(&mut self) -> Result<Option<Arc<Mutex<NameServerLink>>>> {
        let given = || env::var(NAME_SERVER).ok().filter(|text| !text.is_empty());
        if let (None, Some(text)) = (&self.server, given()) {
            let address = NameServerAddress::parse(&text)
                .map_err(|why| ErrorClass::Service.error(format!("{NAME_SERVER}: {why}")))?;
            self.server = Some(Arc::new(Mutex::new(NameServerLink::new(address))));
        }
        Ok(self.server.clone())
    }

    fn is_here(&mut self, launcher: Option<&mut Client>, service: &str) -> Result<bool> {
        match launcher {
            None => Ok(self.own.has(service)),
            Some(launcher) => {
                let reply = launcher.name(NameRequest::lookup(service))?;
                Ok(matches!(reply, NameReply::Port(_)))
            }
        }
    }

    fn serve_here(
        &mut self, launcher: Option<&mut Client>, request: NameRequest,
    ) -> Result<NameReply> {
        match launcher {
            None => Ok(self.own.serve(SELF, &request)),
            Some(launcher) => launcher.name(request),
        }
    }
}

#[cold]
fn missing_server() -> Box<MpiError> {
    ErrorClass::Intern.error("a request for a name server that is not there")
}
