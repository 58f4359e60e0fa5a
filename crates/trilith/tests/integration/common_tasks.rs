//! Six everyday tasks, written from the page of the crate alone.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is not as expected")]

use trilith::convert::{ConvertOptions, TargetForm};
use trilith::{AsdfWriter, SaveOptions, s};

#[test]
fn crate_root_suffices_for_common_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.asdf");
    let pixels: Vec<f32> = (0..4096u16).map(f32::from).collect();

    // A new file with compressed arrays.
    let mut writer = AsdfWriter::new().codec("lz4").unwrap();
    writer.slice("/data", &pixels, &[64, 64]).unwrap();
    writer.set("/meta/exposure", &139.8).unwrap();
    writer.write(&path).unwrap();

    // An array, and a slice of it.
    let file = trilith::open(&path).unwrap();
    let image = file.array("/data").unwrap();
    assert_eq!((image.shape(), image.load::<f32>().unwrap()), (&[64, 64][..], pixels));
    assert_eq!(image.slice(s![10..12, ..;32]).unwrap().load::<f32>().unwrap(), [640.0, 672.0, 704.0, 736.0]);

    // A value of the metadata.
    assert_eq!(file.item("/meta/exposure").unwrap().deserialize::<f64>().unwrap(), 139.8);

    // The value changed in place.
    let mut change = file.edit().unwrap();
    change.set("/meta/exposure", 60.5).unwrap();
    assert!(change.save(SaveOptions::in_place()).unwrap().in_place);

    // The file in another format, and compared with the first one.
    for (name, form) in [("old.asdf", "asdf-1.5"), ("image.bd", "dudley")] {
        let copy = folder.path().join(name);
        let mut options = ConvertOptions::default();
        options.to = TargetForm::from_name(form).unwrap();
        trilith::open(&path).unwrap().convert(&copy, &options).unwrap();
        let (first, second) = (trilith::open(&path).unwrap(), trilith::open(&copy).unwrap());
        assert_eq!(first.diff(&second, &Default::default()).unwrap().len(), 0, "{name}");
    }
}
