//! AWS Signature Version 4 in the headers of a request. In the URL it would appear in the logs of servers and
//! proxies, and their readers could use it.

use std::time::{Duration, SystemTime};

use rusty_s3::Credentials;
use sha2::{Digest, Sha256};
use url::Url;

use super::hex;

/// Headers that go to the one host that they were made for.
pub(super) type Login = Vec<(&'static str, String)>;

/// SHA-256 of nothing, which is what a GET carries.
const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The headers that sign a GET of an address.
pub(super) fn signed(url: &Url, region: &str, credentials: &Credentials, now: SystemTime) -> Login {
    let mut headers: Login = vec![("x-amz-content-sha256", NOTHING.to_owned()), ("x-amz-date", stamp(now))];
    headers.extend(credentials.token().map(|token| ("x-amz-security-token", token.to_owned())));
    let authorization = authorization(url, region, credentials, &headers);
    headers.push(("authorization", authorization));
    headers
}

/// The value of `Authorization` for a GET with these headers, `x-amz-date` among them, besides that of the host.
fn authorization(url: &Url, region: &str, credentials: &Credentials, headers: &[(&'static str, String)]) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let mut all: Vec<(&str, String)> = vec![("host", format!("{}{port}", url.host_str().unwrap_or_default()))];
    all.extend(headers.iter().cloned());
    all.sort();
    let names = all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = all.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let request = format!("GET\n{}\n{}\n{lines}\n{names}\n{NOTHING}", url.path(), url.query().unwrap_or_default());
    let time = headers.iter().find(|(name, _)| *name == "x-amz-date").map_or("", |(_, value)| value);
    let day = time.get(..8).unwrap_or_default();
    let scope = format!("{day}/{region}/s3/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
    let first = hmac(format!("AWS4{}", credentials.secret()).as_bytes(), day.as_bytes());
    let key = [region, "s3", "aws4_request"].iter().fold(first, |key, part| hmac(&key, part.as_bytes()));
    let signature = hex(&hmac(&key, text.as_bytes()));
    format!("AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", credentials.key())
}

/// HMAC with SHA-256, RFC 2104.
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut whole = [0u8; BLOCK];
    let short = if key.len() > BLOCK { Sha256::digest(key).to_vec() } else { key.to_vec() };
    whole.iter_mut().zip(&short).for_each(|(to, from)| *to = *from);
    let inner = Sha256::new().chain_update(whole.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(whole.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

/// A time of the calendar, as `20130524T000000Z`.
fn stamp(now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (mut year, mut day) = (1970, seconds / 86_400);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for days in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{:02}T{hour:02}{minute:02}{second:02}Z", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_735_689_599, "20241231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(stamp(at(seconds)), text);
        }
    }

    /// The example "GET Object" of "Signature Calculations for the Authorization Header" in the reference of Amazon S3.
    #[test]
    fn a_request_is_signed_as_the_reference_does() {
        let credentials = Credentials::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let url = Url::parse("https://examplebucket.s3.amazonaws.com/test.txt").unwrap();
        let headers = [
            ("range", "bytes=0-9".to_owned()),
            ("x-amz-content-sha256", NOTHING.to_owned()),
            ("x-amz-date", stamp(at(1_369_353_600))),
        ];
        let found = authorization(&url, "us-east-1", &credentials, &headers);
        assert_eq!(
            found,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let token = Credentials::new_with_token("A", "B", "C");
        assert!(signed(&url, "us-east-1", &token, at(0)).contains(&("x-amz-security-token", "C".to_owned())));
    }
}
