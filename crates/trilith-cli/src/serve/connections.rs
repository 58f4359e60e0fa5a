//! The connections that are open at once: a new one always gets a place, and the one that is needed least loses its own.
//!
//! Any program on the machine can connect. Connections that never made a request with the secret go first, except the newest of them:
//! their request may be under way, and a browser does not repeat it if the connection is closed. Then those that wait for the next
//! request go. A connection that waits for an answer stays.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Maximum number of open connections.
const MAX_CONNECTIONS: usize = 64;
/// Number of the newest connections without a request that stay: two pages open at most twelve at once.
const MAX_IDLE_NEW: usize = 16;

/// The open connections, those that were used longest ago first.
#[derive(Default)]
pub(super) struct ConnectionPool(Arc<PoolState>);

#[derive(Default)]
struct PoolState {
    connections: Mutex<Vec<Connection>>,
    next_id: Notify,
}

struct Connection {
    /// `true` after a request with the secret.
    has_secret: bool,
    /// Number of requests that are being answered.
    active_requests: usize,
    evicted: Arc<Notify>,
}

/// A connection that has a place.
pub(super) struct ConnectionGuard {
    pool: Arc<PoolState>,
    /// Notification to close; its identity also tells which place the connection has.
    evicted: Arc<Notify>,
}

/// A request that is being answered.
pub(super) struct RequestGuard<'g>(&'g ConnectionGuard);

impl PoolState {
    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees a place if none is left. Returns `false` if every connection waits for an answer.
    fn evict_one(&self) -> bool {
        let mut places = self.lock();
        if places.len() < MAX_CONNECTIONS {
            return true;
        }
        let idle = |is_known: bool| move |place: &Connection| place.active_requests == 0 && place.has_secret == is_known;
        let has_old = places.iter().filter(|place| idle(false)(place)).count() > MAX_IDLE_NEW;
        let find = |is_known: bool| places.iter().position(idle(is_known));
        match find(!has_old).or_else(|| find(has_old)) {
            Some(at) => {
                // The connection may not wait for the notification yet: the permit is kept.
                places.remove(at).evicted.notify_one();
                true
            }
            None => false,
        }
    }
}

impl ConnectionPool {
    /// Returns a place for a new connection, after another one was sent away if there are too many.
    pub(super) async fn acquire(&self) -> ConnectionGuard {
        while !self.0.evict_one() {
            self.0.next_id.notified().await;
        }
        let away = Arc::new(Notify::new());
        self.0.lock().push(Connection { has_secret: false, active_requests: 0, evicted: away.clone() });
        ConnectionGuard { pool: self.0.clone(), evicted: away }
    }
}

impl ConnectionGuard {
    /// Returns when the place is needed for another connection.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Marks a request with the secret as being answered, until the result is dropped.
    pub(super) fn begin_request(&self) -> RequestGuard<'_> {
        self.update_place(|place| {
            place.has_secret = true;
            place.active_requests += 1;
        });
        RequestGuard(self)
    }

    /// Changes the place, which was used last then.
    fn update_place(&self, change: impl FnOnce(&mut Connection)) {
        let mut places = self.pool.lock();
        if let Some(at) = places.iter().position(|place| Arc::ptr_eq(&place.evicted, &self.evicted)) {
            let mut place = places.remove(at);
            change(&mut place);
            places.push(place);
        }
    }
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.update_place(|place| place.active_requests = place.active_requests.saturating_sub(1));
        self.0.pool.next_id.notify_one();
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.pool.lock().retain(|place| !Arc::ptr_eq(&place.evicted, &self.evicted));
        self.pool.next_id.notify_one();
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
            let room = ConnectionPool::default();
            let mut guests = Vec::new();
            for _ in 0..MAX_CONNECTIONS {
                let guest = room.acquire().await;
                drop(guest.begin_request());
                guests.push(guest);
            }
            // The connections of a page that is opened in addition to many others.
            let new = [room.acquire().await, room.acquire().await];
            let places = room.0.lock();
            let has_place = |guest: &ConnectionGuard| places.iter().any(|place| Arc::ptr_eq(&place.evicted, &guest.evicted));
            assert!(new.iter().all(has_place));
            assert_eq!(guests.iter().filter(|guest| !has_place(guest)).count(), 2);
        });
    }
}
