//! Files that are written as a whole, and what else a path may name.
//!
//! Rules: a regular file is replaced by a finished one in a single step, so that a failed write leaves the old one as it
//! was, with its permissions; a symbolic link stays one, and the file that it names is replaced; what is no regular file
//! is never replaced: a fifo or a character device is written into, anything else is refused.

use std::fs::{self, File, FileType, OpenOptions, Permissions};
use std::io::{self, BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Symbolic links that are followed before they count as a circle, as Linux has it.
const LINKS: usize = 40;

/// Makes a file of what `write` writes.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(old) if old.is_file() => {
            let path = fs::canonicalize(path)?;
            // Whether it may be written to at all, although another file takes its place.
            OpenOptions::new().write(true).open(&path)?;
            anew(&path, Some(old.permissions()), write)
        }
        Ok(old) if is_stream(old.file_type()) => into(&OpenOptions::new().write(true).open(path)?, write),
        Ok(old) => Err(no_file(old.file_type())),
        Err(e) if e.kind() == ErrorKind::NotFound => anew(&end_of_links(path)?, None, write),
        Err(e) => Err(e),
    }
}

fn into(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffered = BufWriter::with_capacity(1 << 20, file);
    write(&mut buffered)?;
    buffered.flush()
}

/// Writes a file beside the path, and gives it its name.
fn anew(path: &Path, permissions: Option<Permissions>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (file, unfinished) = Unfinished::beside(path)?;
    into(&file, write)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    // What the disk has no room for may only be known now.
    file.sync_all()?;
    drop(file);
    fs::rename(&unfinished.0, path)?;
    std::mem::forget(unfinished);
    Ok(())
}

/// A file that is removed unless it is finished.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(path: &Path) -> io::Result<(File, Unfinished)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if path.file_name().is_none() {
            return Err(Error::new(ErrorKind::InvalidInput, "it names no file"));
        }
        loop {
            let name = format!(".unfinished-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let beside = path.with_file_name(name);
            match OpenOptions::new().write(true).create_new(true).open(&beside) {
                Ok(file) => return Ok((file, Unfinished(beside))),
                // Another process of that number left it.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Where a path leads that names no file yet: itself, or what a symbolic link without a target names.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::other("its symbolic links lead in a circle"))
}

#[cfg(unix)]
fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: FileType) -> bool {
    false
}

/// The refusal of what is no regular file.
pub(crate) fn no_file(kind: FileType) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("it is {}, not a file", named(kind)))
}

fn named(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_fifo() {
            return "a fifo";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "something else" }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    /// A folder of the test's own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("tpu-replace-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn names(&self) -> Vec<String> {
            let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            let mut names: Vec<String> = fs::read_dir(&self.0).unwrap().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn put(path: &Path, text: &str) -> io::Result<()> {
        replace(path, |to| to.write_all(text.as_bytes()))
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn files_are_made_and_replaced_with_their_permissions() {
        let folder = Folder::new("files");
        let path = folder.at("a");
        put(&path, "one").unwrap();
        fs::write(folder.at("plain"), "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((read(&path).as_str(), mode(&path)), ("one", mode(&folder.at("plain"))), "as any new file");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        put(&path, "two").unwrap();
        assert_eq!((read(&path).as_str(), mode(&path)), ("two", 0o640));
        assert_eq!(folder.names(), ["a", "plain"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = Folder::new("failed");
        let path = folder.at("a");
        let fail = |to: &mut dyn Write| {
            to.write_all(&vec![7; 1 << 21])?;
            Err(Error::from(ErrorKind::StorageFull))
        };
        assert_eq!(replace(&path, fail).unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(folder.names().is_empty(), "nothing is left behind: {:?}", folder.names());
        put(&path, "old").unwrap();
        assert_eq!(replace(&path, fail).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!((read(&path).as_str(), folder.names()), ("old", vec!["a".to_string()]));
    }

    #[test]
    fn symbolic_links_stay() {
        let folder = Folder::new("links");
        let (target, link, chain, dangling) = (folder.at("target"), folder.at("link"), folder.at("chain"), folder.at("dangling"));
        put(&target, "old").unwrap();
        symlink("target", &link).unwrap();
        symlink("link", &chain).unwrap();
        symlink("later", &dangling).unwrap();
        put(&chain, "new").unwrap();
        put(&dangling, "later").unwrap();
        assert_eq!((read(&target).as_str(), read(&folder.at("later")).as_str()), ("new", "later"));
        for link in [&link, &chain, &dangling] {
            assert!(fs::symlink_metadata(link).unwrap().file_type().is_symlink(), "{link:?}");
        }
        symlink("circle", folder.at("circle")).unwrap();
        assert!(put(&folder.at("circle"), "").is_err());
        assert_eq!(folder.names(), ["chain", "circle", "dangling", "later", "link", "target"]);
    }

    #[test]
    fn what_is_no_file_is_never_replaced() {
        let folder = Folder::new("kinds");
        let (inner, socket, fifo) = (folder.at("folder"), folder.at("socket"), folder.at("fifo"));
        fs::create_dir(&inner).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for (name, to, word) in [("to_folder", &inner, "a folder"), ("to_socket", &socket, "a socket")] {
            let link = folder.at(name);
            symlink(to, &link).unwrap();
            for path in [to, &link] {
                assert_eq!(put(path, "x").unwrap_err().to_string(), format!("it is {word}, not a file"), "{path:?}");
            }
        }
        let link = folder.at("to_fifo");
        symlink(&fifo, &link).unwrap();
        for path in [&fifo, &link] {
            let other = fifo.clone();
            let reader = std::thread::spawn(move || fs::read_to_string(other).unwrap());
            put(path, "through").unwrap();
            assert_eq!(reader.join().unwrap(), "through");
        }
        let kind = |path: &Path| fs::symlink_metadata(path).unwrap().file_type();
        assert!(kind(&inner).is_dir() && kind(&socket).is_socket() && kind(&fifo).is_fifo());
        assert_eq!(folder.names(), ["fifo", "folder", "socket", "to_fifo", "to_folder", "to_socket"]);
    }

    #[test]
    fn paths_that_can_be_none() {
        let folder = Folder::new("none");
        assert!(put(&folder.at("no/such/folder"), "").is_err());
        assert!(put(&folder.at(&"n".repeat(300)), "").is_err());
        put(&folder.at("file"), "").unwrap();
        for path in ["file/a", "no/..", "file/"] {
            assert!(put(&folder.at(path), "").is_err(), "{path}");
        }
        assert!(put(Path::new(""), "").is_err());
        // The longest name that a file can have.
        let long = folder.at(&"n".repeat(255));
        put(&long, "x").unwrap();
        assert_eq!(read(&long), "x");
    }
}
