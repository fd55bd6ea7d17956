//! The page of an inspection: what it holds, and what a browser makes of it.

use std::path::PathBuf;
use tpu_device::tpuk::Inspection;
use tpu_device::tpuk::page::html;
use tpu_tests::browser::{Opened, browser};
use tpu_tests::pictured::{attention, extremes, inspect, matmul, softmax};

/// The usual kernels and the unusual ones.
fn all() -> Vec<(&'static str, Inspection)> {
    let mut all = vec![("matmul", inspect(&matmul())), ("softmax", inspect(&softmax())), ("attention", inspect(&attention()))];
    all.extend(extremes());
    all
}

fn one(name: &str) -> Inspection {
    all().into_iter().find(|(n, _)| *n == name).map(|(_, inspection)| inspection).unwrap()
}

/// A file that stays until the tests end, in a folder where someone who wants to look finds it.
fn write(name: &str, page: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.html"));
    std::fs::write(&file, page).unwrap();
    file
}

#[test]
fn a_page_asks_for_nothing_and_is_small() {
    for (name, inspection) in all() {
        let page = html(&inspection);
        assert_eq!(page, html(&inspection), "{name}: the same inspection gives the same page");
        assert!(page.len() < 300_000, "{name}: {} bytes", page.len());
        for address in page.match_indices("http").map(|(at, _)| &page[at..(at + 40).min(page.len())]) {
            let name_space = ["http://www.w3.org/2000/svg", "http-equiv="].iter().any(|known| address.starts_with(known));
            assert!(name_space, "{name}: {address}");
        }
        // Nothing but the icon, which is in the page, is linked, imported or loaded.
        let markup = page.replace("href=\"data:image/svg+xml,", "");
        for loader in ["src=\"", "@import", "url(h", "href=\"/", "import(", "fetch(", "XMLHttpRequest"] {
            assert!(!markup.contains(loader) || name == "hostile", "{name}: {loader}");
        }
        assert_eq!(page.contains("They are not measured."), inspection.prediction.is_ok(), "{name}");
        assert!(page.contains("Nothing on this page was measured."), "{name}");
    }
}

#[test]
fn the_text_of_others_is_text() {
    let page = html(&one("hostile"));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</title></style>").count(), 0);
    assert!(!page.contains("<img"));
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
    // The name of the template in the text is still there as a text: values are not looked into.
    assert!(page.contains("{{script}}"));
    assert!(page.matches("&lt;script&gt;window.evil=1&lt;/script&gt;").count() > 20);
}

/// Contrast of text and of what it stands on, in both themes: 4.5 is what WCAG asks of small text.
#[test]
fn every_text_can_be_read() {
    let page = html(&inspect(&matmul()));
    let themes: Vec<&str> = page.split(":root {").skip(1).map(|theme| theme.split('}').next().unwrap()).collect();
    assert_eq!(themes.len(), 2);
    let colour = |theme: &str, name: &str| -> [f64; 3] {
        let rest = theme.split_once(&format!("--{name}: #")).unwrap_or_else(|| panic!("{name}")).1;
        let channel = |at: usize| f64::from(u8::from_str_radix(&rest[at..at + 2], 16).unwrap()) / 255.0;
        [channel(0), channel(2), channel(4)]
    };
    let luminance = |rgb: [f64; 3]| {
        let [r, g, b] = rgb.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let bars =
        ["b0", "b1", "single", "scratch", "dma", "load", "store", "mxu", "vpu", "xlu", "eup", "scalar"].map(|bar| ("on", bar));
    let on_paper = ["paper", "card", "track", "band", "free"].iter().flat_map(|paper| [("ink", *paper), ("soft", *paper)]);
    let marks = ["good", "bad"].map(|mark| (mark, "card"));
    for theme in themes {
        for (text, behind) in bars.into_iter().chain(on_paper.clone()).chain(marks) {
            let (a, b) = (luminance(colour(theme, text)), luminance(colour(theme, behind)));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{text} on {behind}: {contrast:.2}");
        }
    }
}

/// The large figures are those of the prediction, and each span is where its cycles are.
#[test]
fn the_numbers_are_those_of_the_inspection() {
    let inspection = inspect(&matmul());
    let prediction = inspection.prediction.as_ref().unwrap();
    let page = html(&inspection);
    assert!(prediction.cycles > 1_000_000 && prediction.cycles < 2_000_000, "{}", prediction.cycles);
    let cycles =
        format!("{},{:03},{:03}", prediction.cycles / 1_000_000, prediction.cycles / 1000 % 1000, prediction.cycles % 1000);
    assert!(page.contains(&format!("<b>{cycles}</b>")), "{cycles}");
    assert!(page.contains("<b>137.4 GOP</b>") && page.contains("<b>4 MiB</b>"));
    assert!(page.contains("The first 8 of 512 steps in the grid"));

    let end = prediction.steps.iter().map(|span| span.end).max().unwrap();
    let bars: Vec<&str> = page.split("<g class=\"s ").skip(1).collect();
    assert_eq!(bars.len(), prediction.steps.len());
    for span in &prediction.steps {
        let at = format!("data-a={} data-b={} data-n={}", span.start, span.end, span.step);
        let bar = bars.iter().find(|bar| bar.contains(&at) && bar.contains(&format!(": {}", span.what))).expect(&at);
        let number = |name: &str| -> f64 {
            let rest = &bar[bar.find("<rect x=").unwrap()..];
            rest.split_once(&format!("{name}=\"")).unwrap().1.split('"').next().unwrap().parse().unwrap()
        };
        let x = |cycle: u64| 86.0 + cycle as f64 / end as f64 * (1150.0 - 86.0 - 36.0);
        assert!((number("x") - x(span.start)).abs() < 0.06, "{at}");
        assert!((number("width") - (x(span.end) - x(span.start)).max(1.0)).abs() < 0.06, "{at}");
    }
}

/// The blocks of the memory map lie one behind the other, each as wide as its share.
#[test]
fn the_memory_map_is_to_scale() {
    for name in ["matmul", "attention", "many-windows", "full", "refused"] {
        let inspection = one(name);
        let page = html(&inspection);
        let map = page.split("<svg id=vmem").nth(1).unwrap().split("<table").next().unwrap();
        let number = |text: &str, name: &str| -> f64 {
            text.split_once(&format!("{name}=\"")).unwrap().1.split('%').next().unwrap().parse().unwrap()
        };
        let blocks: Vec<(f64, f64)> =
            map.split("<svg class=\"m ").skip(1).map(|block| (number(block, " x"), number(block, " width"))).collect();
        let buffers: u64 = inspection.vmem.iter().map(|row| row.buffers).sum();
        let used = inspection.vmem_bytes() as f64;
        let whole = used.max(inspection.chip.vmem_bytes as f64);
        let (bars, scales) = if used / whole < 0.55 { (2, vec![whole, used]) } else { (1, vec![whole]) };
        assert_eq!(blocks.len() as u64, buffers * bars, "{name}");
        for (bar, scale) in blocks.chunks(buffers as usize).zip(scales) {
            let mut at = 0.0;
            for &(x, width) in bar {
                assert!((x - at).abs() < 0.01, "{name}: {x} after {at}");
                at = x + width;
            }
            assert!((at - used / scale * 100.0).abs() < 0.05, "{name}: {at}");
        }
    }
}

#[test]
fn no_page_has_an_error_in_the_console() {
    let Some(browser) = browser() else { return };
    // The test can fail: an exception and a refusal of the security policy are both heard.
    let broken = write("broken", "<!doctype html><html><body><script>missing.call()</script></body></html>");
    assert_eq!(browser.open(&broken, 1280).console.len(), 1);
    let page = html(&inspect(&softmax())).replace("</body>", "<img src=\"file:///nothing.png\"></body>");
    assert_eq!(browser.open(&write("loads", &page), 1280).console.len(), 1);

    let mut frames = String::new();
    for (name, inspection) in all() {
        let file = write(name, &html(&inspection));
        frames += &format!("<iframe src=\"{name}.html\"></iframe>\n");
        if ["matmul", "refused", "hostile"].contains(&name) {
            let Opened { dom, console } = browser.open(&file, 1280);
            assert!(console.is_empty(), "{name}: {console:#?}");
            // The script ran to its end.
            assert_eq!(dom.contains("<div id=\"tools\" class=\"live\">"), inspection.prediction.is_ok(), "{name}");
        }
    }
    // The others are opened together. One that fails is heard here too.
    let frames = format!("<!doctype html><html><body>{frames}</body></html>");
    let all = browser.open(&write("frames", &frames), 1280);
    assert!(all.console.is_empty(), "{:#?}", all.console);
    let broken = frames.replace("</body>", "<iframe src=\"broken.html\"></iframe></body>");
    assert_eq!(browser.open(&write("frames-broken", &broken), 1280).console.len(), 1);
}

/// Collects what scripts find wrong.
const LISTEN: &str = "<ol id=said></ol><script>const say = (text) => { const li = document.createElement('li'); li.textContent = text; \
    document.getElementById('said').append(li); }; window.say = say;</script>";
const HARNESS: &str = "const assert = (holds, text) => { if (!holds) say(text); };";

/// Runs `script` at the end of the page; it says what is wrong by `say(…)`.
fn ask(page: &str, name: &str, width: u32, script: &str) -> Vec<String> {
    let tail = format!("{LISTEN}<script>{{ {HARNESS}\n{script}\nsay('done'); }}</script></body>");
    heard(&page.replace("</body>", &tail), &format!("{name}-{width}"), width)
}

/// What the scripts of a page have said.
fn heard(page: &str, name: &str, width: u32) -> Vec<String> {
    let opened = browser().unwrap().open(&write(name, page), width);
    assert!(opened.console.is_empty(), "{name} at {width}: {:#?}", opened.console);
    let said = opened.dom.split("<ol id=\"said\">").nth(1).unwrap().split("</ol>").next().unwrap();
    said.split("<li>").skip(1).map(|li| li.split("</li>").next().unwrap().to_string()).collect()
}

/// No label lies on another, or outside of its picture; nothing makes the page itself scroll sideways.
#[test]
fn labels_do_not_overlap() {
    if browser().is_none() {
        return;
    }
    let script = include_str!("page_labels.js");
    // The test can fail: two labels at one place are found.
    let twice = html(&inspect(&matmul())).replace(
        "<text class=pointname",
        "<text class=pointname x=300 y=100>on another</text><text class=pointname x=300 y=100>twice</text><text class=pointname",
    );
    assert!(ask(&twice, "twice", 1280, script).len() > 1);
    let mut frames = String::new();
    let mut count = 0;
    for (name, inspection) in all() {
        let page = html(&inspection);
        let (before, after) = (page.split("<script>").next().unwrap(), page.rsplit("</script>").next().unwrap());
        let still = format!("{before}{after}");
        for (page, width, how) in [(&page, 1280, ""), (&page, 700, ""), (&still, 1280, ", without its script")] {
            count += 1;
            let tell =
                format!("const say = (text) => parent.say('{name} at {width}{how}: ' + text);\n{HARNESS}\n{script}\nsay('done');");
            let page = page.replace("</body>", &format!("<script>{{ {tell} }}</script></body>"));
            let page = page.replace('&', "&amp;").replace('"', "&quot;");
            frames += &format!("<iframe style=\"width:{width}px;height:1000px;border:0\" srcdoc=\"{page}\"></iframe>\n");
        }
    }
    let gallery = format!("<!doctype html><html><head><meta charset=utf-8></head><body>{LISTEN}{frames}</body></html>");
    let mut said = heard(&gallery, "gallery", 1400);
    let all = said.len();
    said.retain(|said| !said.ends_with(": done"));
    assert_eq!((said.as_slice(), all), (&[][..], count), "each page is looked at, and nothing is wrong");
}

/// Zoom, pan, the keyboard, the tooltip and the highlight do what they say.
#[test]
fn the_timeline_moves() {
    if browser().is_none() {
        return;
    }
    let page = html(&inspect(&matmul()));
    assert_eq!(ask(&page, "moves", 1280, include_str!("page_moves.js")), ["done"]);
}
