//! The connections that are open at once: a new one always gets a place, and the one that is needed least loses its own.
//!
//! Any program on the machine can connect. Connections that never made a request with the secret go first, except the newest of them:
//! their request may be under way, and a browser does not repeat it if the connection is closed. Then those that wait for the next
//! request go. A connection that waits for an answer stays.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Maximum number of open connections.
const CONNECTIONS: usize = 64;
/// Number of the newest connections without a request that stay: two pages open at most twelve at once.
const NEW: usize = 16;

/// The open connections, those that were used longest ago first.
#[derive(Default)]
pub(super) struct Room(Arc<Shared>);

#[derive(Default)]
struct Shared {
    places: Mutex<Vec<Place>>,
    left: Notify,
}

struct Place {
    /// `true` after a request with the secret.
    is_known: bool,
    /// Number of requests that are being answered.
    served: usize,
    away: Arc<Notify>,
}

/// A connection that has a place.
pub(super) struct Guest {
    room: Arc<Shared>,
    /// Notification to close; its identity also tells which place the connection has.
    away: Arc<Notify>,
}

/// A request that is being answered.
pub(super) struct Served<'g>(&'g Guest);

impl Shared {
    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees a place if none is left. Returns `false` if every connection waits for an answer.
    fn make_place(&self) -> bool {
        let mut places = self.places();
        if places.len() < CONNECTIONS {
            return true;
        }
        let idle = |is_known: bool| move |place: &Place| place.served == 0 && place.is_known == is_known;
        let has_old = places.iter().filter(|place| idle(false)(place)).count() > NEW;
        let find = |is_known: bool| places.iter().position(idle(is_known));
        match find(!has_old).or_else(|| find(has_old)) {
            Some(at) => {
                // The connection may not wait for the notification yet: the permit is kept.
                places.remove(at).away.notify_one();
                true
            }
            None => false,
        }
    }
}

impl Room {
    /// Returns a place for a new connection, after another one was sent away if there are too many.
    pub(super) async fn enter(&self) -> Guest {
        while !self.0.make_place() {
            self.0.left.notified().await;
        }
        let away = Arc::new(Notify::new());
        self.0.places().push(Place { is_known: false, served: 0, away: away.clone() });
        Guest { room: self.0.clone(), away }
    }
}

impl Guest {
    /// Returns when the place is needed for another connection.
    pub(super) async fn is_sent_away(&self) {
        self.away.notified().await;
    }

    /// Marks a request with the secret as being answered, until the result is dropped.
    pub(super) fn is_served(&self) -> Served<'_> {
        self.change(|place| {
            place.is_known = true;
            place.served += 1;
        });
        Served(self)
    }

    /// Changes the place, which was used last then.
    fn change(&self, change: impl FnOnce(&mut Place)) {
        let mut places = self.room.places();
        if let Some(at) = places.iter().position(|place| Arc::ptr_eq(&place.away, &self.away)) {
            let mut place = places.remove(at);
            change(&mut place);
            places.push(place);
        }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.change(|place| place.served = place.served.saturating_sub(1));
        self.0.room.left.notify_one();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.room.places().retain(|place| !Arc::ptr_eq(&place.away, &self.away));
        self.room.left.notify_one();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop where things are not as expected")]
mod tests {
    use super::*;

    #[test]
    fn new_connections_do_not_displace_each_other() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let room = Room::default();
            let mut guests = Vec::new();
            for _ in 0..CONNECTIONS {
                let guest = room.enter().await;
                drop(guest.is_served());
                guests.push(guest);
            }
            // The connections of a page that is opened in addition to many others.
            let new = [room.enter().await, room.enter().await];
            let places = room.0.places();
            let has_place = |guest: &Guest| places.iter().any(|place| Arc::ptr_eq(&place.away, &guest.away));
            assert!(new.iter().all(has_place));
            assert_eq!(guests.iter().filter(|guest| !has_place(guest)).count(), 2);
        });
    }
}
