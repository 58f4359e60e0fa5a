//! Families of files, read as one array.

use super::*;

/// Files by name.
struct Files(std::collections::HashMap<String, Vec<u8>>, std::sync::Mutex<Vec<String>>);

impl crate::bytes::Resolve for Files {
    fn resolve(&self, uri: &str) -> Result<(crate::bytes::SourceRef, Arc<dyn crate::bytes::Resolve>)> {
        self.1.lock().unwrap().push(uri.to_owned());
        let bytes = self.0.get(uri).ok_or_else(|| crate::Error::invalid_input(format!("no file {uri}")))?;
        Ok((Arc::new(MemorySource::new(bytes.clone(), uri)), Arc::new(crate::bytes::NoReferences)))
    }

    fn is_missing(&self, uri: &str) -> bool {
        !self.0.contains_key(uri)
    }
}

/// A family of this number of files, file k with `nx(k)` cells that hold 10k, 10k + 1, …; catalog, template, files.
fn family(count: usize, nx: impl Fn(usize) -> i64, text: &str, order: Byteorder) -> (Catalog, Layout, Arc<Files>) {
    use crate::array::Array;
    let template = Layout::read(text.as_bytes()).unwrap();
    let mut files = std::collections::HashMap::new();
    let (mut names, mut records) = (Vec::new(), Vec::new());
    for k in 0..count {
        let mut supply = |entry: &LayoutEntry| {
            let mut shape = entry.shape.clone();
            let (datatype, kept) = datatype_of(&entry.resolved_type, &mut shape)?;
            let len = shape.iter().product::<u64>() * datatype.item_size() / 8;
            let words: Vec<u8> = (0..len)
                .flat_map(|n| match order {
                    Byteorder::Little => (k as f64 * 10.0 + n as f64).to_le_bytes(),
                    Byteorder::Big => (k as f64 * 10.0 + n as f64).to_be_bytes(),
                })
                .collect();
            Array::from_bytes(words, datatype, kept, shape)
        };
        let mut new = NewStream::new(&template, vec![nx(k)]);
        (new.order, new.embed) = (order, false);
        let mut out = std::io::Cursor::new(Vec::new());
        new.write(&mut supply, &mut out).unwrap();
        names.push(format!("run{k:04}.bd"));
        files.insert(format!("run{k:04}.bd"), out.into_inner());
        records.push(nx(k));
    }
    let records = Array::from_slice(&records, &[count as u64, 1]).unwrap();
    let names = Array::from_texts(&names, &[count as u64]).unwrap();
    let mut out = std::io::Cursor::new(Vec::new());
    let draft = Draft::dict([("files", Draft::data(names)), ("records", Draft::data(records))]);
    draft.write(Byteorder::Little, &Limits::default(), &mut out).unwrap();
    let catalog = Catalog::read(&open(out.into_inner()).unwrap()).unwrap();
    (catalog, template, Arc::new(Files(files, std::sync::Mutex::new(Vec::new()))))
}

#[test]
fn file_set_item_reads_as_one_array() {
    let text = "{ N : i8 }  rho = f8[N]  cells = {a = f8  b = f8}[N]";
    for order in [Byteorder::Little, Byteorder::Big] {
        let (catalog, template, files) = family(50, |_| 3, text, order);
        let options = crate::layout::EvaluateOptions { is_native: true, byteorder: Some(order), limits: Limits::default() };
        let rho = catalog.array_at(&template, "/rho", &[0..50], &options, files.clone()).unwrap();
        assert_eq!(rho.shape(), [50, 3]);
        assert!(files.1.lock().unwrap().is_empty(), "nothing is opened before elements are read");
        let one = rho.slice(crate::array::Index::parse_list("7").unwrap()).unwrap();
        assert_eq!(one.load::<f64>().unwrap(), [70.0, 71.0, 72.0]);
        assert_eq!(*files.1.lock().unwrap(), ["run0007.bd"]);
        let all = rho.load::<f64>().unwrap();
        assert_eq!(all[146..], [482.0, 490.0, 491.0, 492.0]);
        // A member of structs, and only some of the files.
        let b = catalog.array_at(&template, "/cells.b", &[10..12], &options, files.clone()).unwrap();
        assert_eq!(b.load::<f64>().unwrap(), [101.0, 103.0, 105.0, 111.0, 113.0, 115.0]);
        let bytes_of = |array: &Array| {
            let mut bytes = Vec::new();
            let mut take = |piece: &[u8]| {
                bytes.extend_from_slice(piece);
                Ok(())
            };
            array.for_each_piece_in(order, 1 << 20, &mut take).map(|()| bytes)
        };
        let structs = bytes_of(&catalog.array_at(&template, "/cells", &[0..2], &options, files.clone()).unwrap()).unwrap();
        // The files have the other byte order than declared: numbers and structs are turned.
        let other = if order == Byteorder::Little { Byteorder::Big } else { Byteorder::Little };
        let options = crate::layout::EvaluateOptions { byteorder: Some(other), ..options };
        let turned = catalog.array_at(&template, "/rho", &[0..2], &options, files.clone()).unwrap();
        assert_eq!(turned.load::<f64>().unwrap(), [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
        assert_eq!(turned.slice(crate::array::Index::parse_list("1,1:").unwrap()).unwrap().load::<f64>().unwrap(), [11.0, 12.0]);
        let member = catalog.array_at(&template, "/cells.b", &[1..2], &options, files.clone()).unwrap();
        assert_eq!(member.load::<f64>().unwrap(), [11.0, 13.0, 15.0]);
        let turned = catalog.array_at(&template, "/cells", &[0..2], &options, files).unwrap();
        assert_eq!(bytes_of(&turned).unwrap(), structs);
    }
}

/// Files, each with its version.
struct Versions(Arc<Files>, std::sync::Mutex<std::collections::HashMap<String, String>>);

struct Versioned(crate::bytes::SourceRef, Option<String>);

impl crate::bytes::Source for Versioned {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, into)
    }

    fn backing(&self) -> Option<&dyn crate::bytes::SourceBacking> {
        Some(self)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl crate::bytes::SourceBacking for Versioned {
    fn content_version(&self) -> Option<String> {
        self.1.clone()
    }
}

impl crate::bytes::Resolve for Versions {
    fn resolve(&self, uri: &str) -> Result<(crate::bytes::SourceRef, Arc<dyn crate::bytes::Resolve>)> {
        let (source, resolve) = self.0.resolve(uri)?;
        Ok((Arc::new(Versioned(source, self.1.lock().unwrap().get(uri).cloned())), resolve))
    }
}

#[test]
fn replaced_file_is_named_in_error() {
    let (catalog, template, files) = family(3, |_| 2, "{ N : i8 }  rho = f8[N]  te = f8[N]", Byteorder::Little);
    let versions = files.0.keys().map(|name| (name.clone(), "first".to_owned())).collect();
    let files = Arc::new(Versions(files, std::sync::Mutex::new(versions)));
    let options =
        crate::layout::EvaluateOptions { is_native: true, byteorder: Some(Byteorder::Little), limits: Limits::default() };
    let at = |item: &str| catalog.array_at(&template, item, &[0..3], &options, files.clone()).unwrap();
    let (rho, te) = (at("/rho"), at("/te"));
    let one = |at: &str| rho.slice(crate::array::Index::parse_list(at).unwrap()).unwrap().load::<f64>();
    assert_eq!(rho.load::<f64>().unwrap(), [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    files.1.lock().unwrap().insert("run0000.bd".to_owned(), "second".to_owned());
    // Whichever item is read: what was read before is of the file before.
    for error in [rho.load::<f64>(), te.load::<f64>(), one("0")].map(|read| read.unwrap_err().to_string()) {
        assert!(error.contains("run0000.bd") && error.contains("replaced"), "{error}");
    }
    assert_eq!(one("2").unwrap(), [20.0, 21.0]);
    // If versions cannot be distinguished, nothing is refused.
    files.1.lock().unwrap().remove("run0000.bd");
    assert_eq!(one("0").unwrap(), [0.0, 1.0]);
}

#[test]
fn differing_files_are_read_where_equal() {
    let (catalog, template, files) = family(6, |k| if k < 4 { 2 } else { 0 }, "{ N : i8 }  rho = f8[N]", Byteorder::Little);
    let options =
        crate::layout::EvaluateOptions { is_native: true, byteorder: Some(Byteorder::Little), limits: Limits::default() };
    let at = |item: &str, rows: std::ops::Range<usize>| catalog.array_at(&template, item, &[rows], &options, files.clone());
    assert_eq!(at("/rho", 0..4).unwrap().load::<f64>().unwrap().len(), 8);
    assert_eq!(at("/rho", 4..6).unwrap().shape(), [2, 0]);
    assert!(at("/rho", 4..6).unwrap().load::<f64>().unwrap().is_empty());
    assert!(at("/rho", 4..6).unwrap().mask().is_none(), "none of them has elements");
    assert!(at("/none", 0..2).unwrap_err().to_string().contains("an item /none"));
    assert!(at("/rho", 5..7).is_err() && at("/rho", 2..2).is_err());
    let (catalog, template, files) = family(4, |k| 2 + i64::from(k == 3), "{ N : i8 }  rho = f8[N]", Byteorder::Little);
    let error = catalog.array_at(&template, "/rho", &[2..4, 0..1], &options, files).unwrap_err().to_string();
    assert!(error.contains("[2] in run0002.bd and [3] in run0003.bd") && error.contains("2:3,0:1"), "{error}");
}

#[test]
fn omitted_items_and_missing_files_are_masked() {
    let nx = |k: usize| i64::from(!k.is_multiple_of(3));
    for order in [Byteorder::Little, Byteorder::Big] {
        let (catalog, template, files) = family(7, nx, "{ N : i8 }  rho = f8[N, 2]  cell = {a = f8 b = f8}[N]", order);
        let mut left = Files(files.0.clone(), std::sync::Mutex::default());
        left.0.remove("run0004.bd");
        let options = crate::layout::EvaluateOptions { is_native: true, byteorder: Some(order), limits: Limits::default() };
        for rows in [vec![0..7], vec![1..3, 0..1, 3..7], vec![4..6, 6..7, 0..2]] {
            let numbers: Vec<usize> = rows.iter().cloned().flatten().collect();
            let found = catalog.omitted(&template, "/rho", &rows, &options, &left).unwrap();
            let expected = numbers.iter().copied().filter(|k| nx(*k) == 0 || *k == 4);
            assert!(found.iter().map(|one| one.row).eq(expected) && found.iter().all(|one| one.is_missing == (one.row == 4)));
            let left = Arc::new(Files(left.0.clone(), std::sync::Mutex::default()));
            let rho = catalog.array_at(&template, "/rho", &rows, &options, left.clone()).unwrap();
            let (values, mask) = (rho.load::<f64>().unwrap(), rho.mask_bytes().unwrap().unwrap());
            for (at, k) in numbers.iter().enumerate() {
                let is_masked = nx(*k) == 0 || *k == 4;
                assert_eq!(mask[at * 2..][..2], [u8::from(is_masked); 2], "{rows:?} {k}");
                let expected = |n: usize| *k as f64 * 10.0 + n as f64;
                assert!((0..2).all(|n| if is_masked { values[at * 2 + n].is_nan() } else { values[at * 2 + n] == expected(n) }));
                let b = catalog.array_at(&template, "/cell.b", &rows, &options, left.clone()).unwrap();
                let one = b.slice(crate::array::Index::parse_list(&format!("{at}")).unwrap()).unwrap();
                assert_eq!(one.mask_bytes().unwrap().unwrap(), [u8::from(is_masked)]);
            }
            assert!(
                left.1.lock().unwrap().iter().all(|file| !["run0000.bd", "run0003.bd", "run0004.bd"].contains(&file.as_str()))
            );
        }
        // If all files are missing, reading reports it; an existing file that cannot be read is not an omission.
        let gone = catalog.array_at(&template, "/rho", &[4..5], &options, Arc::new(left)).unwrap();
        assert!(gone.mask().is_none() && gone.load::<f64>().unwrap_err().to_string().contains("run0004.bd"));
        let mut broken = files.0.clone();
        broken.insert("run0004.bd".to_owned(), vec![0; 200]);
        let broken = Arc::new(Files(broken, std::sync::Mutex::default()));
        let rho = catalog.array_at(&template, "/rho", &[0..7], &options, broken).unwrap();
        assert!(rho.load::<f64>().unwrap_err().to_string().contains("run0004.bd"));
    }
}
