//! FITS: bytes as they come, or cards put together in blocks of 2880. Opening, listing and reading every
//! HDU end; and a file that opens is a tree whose arrays can be digested or refused.
#![no_main]

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use trilith::bytes::{NoReferences, SourceRef};
use trilith::fits::FitsFile;
use trilith::{check, file};
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
struct Hdu {
    extension: u8,
    bitpix: u8,
    axes: Vec<u8>,
    cards: Vec<(u8, u8, Value)>,
    data: Vec<u8>,
    ended: bool,
}

#[derive(Arbitrary, Debug)]
enum Value {
    Int(i64),
    Small(u8),
    Float(f64),
    Text(u8),
    Any(String),
    Logical(bool),
}

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"SIMPLE  =") {
        read(memory(bytes));
        return;
    }
    let mut u = Unstructured::new(bytes);
    let mut file = Vec::new();
    for number in 0..4 {
        let Ok(hdu) = Hdu::arbitrary(&mut u) else { break };
        hdu.write(number, &mut file);
        if u.is_empty() {
            break;
        }
    }
    read(memory(file));
});

fn read(source: SourceRef) {
    let limits = limits();
    if let Ok(fits) = FitsFile::open(source.clone(), &limits) {
        for hdu in fits.hdus() {
            let size = |array: trilith::Result<trilith::Array>| array.ok().map(|array| array.nbytes());
            for nbytes in [fits.writable_array(hdu).ok().flatten().map(|array| array.nbytes()), size(fits.array(hdu))].into_iter().flatten() {
                assert!(nbytes < 1 << 40, "{nbytes} bytes");
            }
            // The rows before the end of a truncated file can be read.
            let data = hdu.data();
            assert!(data.end == data.start || data.start < source.len() || fits.array(hdu).is_err());
        }
    }
    if let Ok(file) = file::open_asdf_source(source, Arc::new(NoReferences), &limits) {
        for entry in check::digest(&file).unwrap_or_default() {
            let _ = entry.digest;
        }
    }
}

const WORDS: [&str; 44] = [
    "PCOUNT", "GCOUNT", "TFIELDS", "BSCALE", "BZERO", "BLANK", "EXTNAME", "EXTVER", "THEAP", "GROUPS", "TFORM1", "TTYPE1",
    "TSCAL1", "TZERO1", "TNULL1", "TDIM1", "TFORM2", "TTYPE2", "TDIM2", "TBCOL1", "TBCOL2", "ZIMAGE", "ZCMPTYPE", "ZBITPIX",
    "ZNAXIS", "ZNAXIS1", "ZNAXIS2", "ZTILE1", "ZTILE2", "ZNAME1", "ZVAL1", "ZNAME2", "ZVAL2", "ZQUANTIZ", "ZDITHER0", "ZBLANK",
    "ZSCALE", "ZZERO", "CONTINUE", "COMMENT", "HIERARCH", "XTENSION", "NAXIS", "NAXIS1",
];
const TEXTS: [&str; 24] = [
    "'ASDF    '", "'1J      '", "'1PB(99)  '", "'1QE(9)  '", "'10A     '", "'3E      '", "'1X      '", "'RICE_1  '", "'GZIP_1  '",
    "'GZIP_2  '", "'PLIO_1  '", "'HCOMPRESS_1'", "'BLOCKSIZE'", "'BYTEPIX '", "'COMPRESSED_DATA'", "'(2,3)   '", "'ZSCALE  '",
    "'SUBTRACTIVE_DITHER_1'", "'NOCOMPRESS'", "'it''s   '", "'unended", "'a&'", "'I5      '", "'NO_DITHER'",
];

impl Hdu {
    fn write(&self, number: usize, file: &mut Vec<u8>) {
        let start = file.len();
        let mut card = |word: &str, value: &str| {
            let mut line = format!("{word:<8}= {value:>20}").into_bytes();
            line.resize(80, b' ');
            file.extend_from_slice(&line);
        };
        match (number, self.extension % 4) {
            (0, _) => card("SIMPLE", "T"),
            (_, 0) => card("XTENSION", "'IMAGE   '"),
            (_, 1) => card("XTENSION", "'TABLE   '"),
            _ => card("XTENSION", "'BINTABLE'"),
        }
        let bitpix = [8, 16, 32, 64, -32, -64, 7][usize::from(self.bitpix % 7)];
        card("BITPIX", &bitpix.to_string());
        let axes = &self.axes[..self.axes.len().min(4)];
        card("NAXIS", &axes.len().to_string());
        for (axis, len) in axes.iter().enumerate() {
            card(&format!("NAXIS{}", axis + 1), &(len % 16).to_string());
        }
        for (word, text, value) in self.cards.iter().take(24) {
            let value = match value {
                Value::Int(n) => n.to_string(),
                Value::Small(n) => (n % 20).to_string(),
                Value::Float(x) => format!("{x:E}"),
                Value::Text(which) => TEXTS[usize::from(*which) % TEXTS.len()].to_owned(),
                Value::Any(any) => any.clone(),
                Value::Logical(yes) => if *yes { "T" } else { "F" }.to_owned(),
            };
            card(WORDS[usize::from(word ^ text) % WORDS.len()], &value);
        }
        if self.ended {
            let mut end = b"END".to_vec();
            end.resize(80, b' ');
            file.extend_from_slice(&end);
        }
        let pad = |file: &mut Vec<u8>, with| file.resize(start + (file.len() - start).div_ceil(2880) * 2880, with);
        pad(file, b' ');
        file.extend_from_slice(&self.data);
        pad(file, 0);
    }
}
