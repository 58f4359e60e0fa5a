//! Tests of reading and writing with bytes put together by hand.
