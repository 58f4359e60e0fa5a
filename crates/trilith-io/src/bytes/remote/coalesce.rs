//! The requests that fetch a set of ranges: neighbours merged, small ranges together in one request, large ones cut
//! into pieces that are fetched in parallel.

use std::ops::Range;

use crate::bytes::source::coalesce_ranges;

/// Bytes of one request at most; a broken one goes on where it broke.
pub(super) const MAX_REQUEST_BYTES: u64 = 8 << 20;
/// A range up to this long shares its request with others.
const MAX_SHARED_RANGE: u64 = 64 << 10;
/// Ranges in one request: Apache answers with the whole file if there are more than 200, and some servers refuse lines of more
/// than 8 KiB.
const MAX_RANGES_PER_REQUEST: usize = 192;
/// Approximate overhead of a part of a multipart response, in bytes.
const PART_OVERHEAD: u64 = 256;
/// Gaps up to this size are fetched, too, if each range is a separate request.
const MERGE_GAP: u64 = 8 << 10;
/// Number of requests above which ranges are merged across wider gaps, up to `MAX_MERGE_GAP`.
const MAX_REQUESTS: usize = 64;
const MAX_MERGE_GAP: u64 = 1 << 20;

/// The ranges of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RangeRequest {
    Single(Range<u64>),
    Multipart(Vec<Range<u64>>),
}

/// The ranges that a server answers at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeSupport {
    /// One range per request.
    Single,
    /// Several ranges per request.
    Multipart,
}

/// Joins ranges with gaps that are small compared with them.
fn coalesce(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut out: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if (range.start - last.end) * 16 <= (last.end - last.start).min(range.end - range.start) => {
                last.end = range.end;
            }
            _ => out.push(range),
        }
    }
    out
}

/// The requests for these ranges.
pub(super) fn plan_jobs(ranges: Vec<Range<u64>>, support: RangeSupport) -> Vec<RangeRequest> {
    let mut jobs = Vec::new();
    if support == RangeSupport::Single {
        let mut gap = MERGE_GAP;
        let mut ranges = coalesce_ranges(ranges, gap);
        while ranges.len() > MAX_REQUESTS && gap < MAX_MERGE_GAP {
            gap *= 2;
            ranges = coalesce_ranges(ranges, gap);
        }
        coalesce(ranges).into_iter().for_each(|range| split_evenly(range, &mut jobs));
        return jobs;
    }
    let mut group: Vec<Range<u64>> = Vec::new();
    for range in coalesce(coalesce_ranges(ranges, PART_OVERHEAD)) {
        if range.end - range.start > MAX_SHARED_RANGE {
            split_evenly(range, &mut jobs);
            continue;
        }
        if group.len() == MAX_RANGES_PER_REQUEST {
            jobs.push(RangeRequest::Multipart(std::mem::take(&mut group)));
        }
        group.push(range);
    }
    match group.len() {
        0 => {}
        1 => jobs.extend(group.pop().map(RangeRequest::Single)),
        _ => jobs.push(RangeRequest::Multipart(group)),
    }
    jobs
}

/// Adds a request for each piece of a range. A piece has at most [`MAX_REQUEST_BYTES`] bytes.
fn split_evenly(range: Range<u64>, jobs: &mut Vec<RangeRequest>) {
    jobs.extend(even_pieces(range).map(RangeRequest::Single));
}

/// Returns even pieces of a range, of at most [`MAX_REQUEST_BYTES`] bytes each.
pub(super) fn even_pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let len = range.end - range.start;
    let size = len.div_ceil(len.div_ceil(MAX_REQUEST_BYTES).max(1)).max(1);
    (0..len.div_ceil(size)).map(move |n| range.start + n * size..range.end.min(range.start + (n + 1) * size))
}

/// Returns the requests for `ranges`, as lists of ranges, if the server answers with several ranges at once.
///
/// `get --explain` prints them. Any other server gets a request for each range.
pub fn requests(ranges: &[Range<u64>]) -> Vec<Vec<Range<u64>>> {
    let list = |job| match job {
        RangeRequest::Single(range) => vec![range],
        RangeRequest::Multipart(ranges) => ranges,
    };
    plan_jobs(ranges.to_vec(), RangeSupport::Multipart).into_iter().map(list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_merge_small_ranges_share_request() {
        let ranges = vec![5000..5100, 0..100, 150..200, 90..120, 7..7];
        assert_eq!(coalesce_ranges(ranges.clone(), 0), [0..120, 150..200, 5000..5100]);
        let (single, multipart) = (RangeSupport::Single, RangeSupport::Multipart);
        assert_eq!(plan_jobs(ranges.clone(), multipart), [RangeRequest::Multipart(vec![0..200, 5000..5100])]);
        assert_eq!(plan_jobs(ranges, single), [RangeRequest::Single(0..5100)]);
        assert_eq!(plan_jobs(vec![0..1_000_000, 1_050_000..2_000_000], multipart), [RangeRequest::Single(0..2_000_000)]);
        let far: Vec<_> = (0..250u64).map(|n| n * 100_000..n * 100_000 + 10).collect();
        assert_eq!(plan_jobs(far.clone(), multipart).len(), 2);
        assert_eq!(plan_jobs(far, single).len(), 3, "too many requests: read along");
    }

    #[test]
    fn large_ranges_split_evenly_without_loss() {
        let cut: Vec<_> = even_pieces(10..10 + (12 << 20)).collect();
        assert_eq!(cut, [10..10 + (6 << 20), 10 + (6 << 20)..10 + (12 << 20)]);
        assert_eq!(even_pieces(0..1).collect::<Vec<_>>(), [0..1]);
        let odd: Vec<_> = even_pieces(3..3 + MAX_REQUEST_BYTES * 3 + 1).collect();
        assert_eq!(odd.iter().map(|r| r.end - r.start).sum::<u64>(), MAX_REQUEST_BYTES * 3 + 1);
        assert!(odd.windows(2).all(|pair| pair[0].end == pair[1].start) && odd.len() == 4);
    }
}
