//! Compares screens with the files in `screens/`.

use super::{
    draw::{Theme, draw},
    kind_state::{KindState, Phase, ProcessUsage},
    object::{Object, Tab},
    objects::{Objects, Row},
    overview::FeedLine,
    query::{Direction, Filter, Index, Listed, Order, Query},
    screen::{Flow, Screen},
};
use crate::paint::Highlight;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kube_informer_wire::Key;
use ratatui::{Terminal, backend::TestBackend};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// Returns what a terminal of this size shows.
fn picture(screen: &mut Screen, width: u16, height: u16) -> String {
    screen.resized(height);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen, Theme::Coloured)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line =
        |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(line).collect()
}

/// Holds a picture against the file of this name; `UPDATE_SCREENS=1` writes the file.
fn check(name: &str, screen: &mut Screen) {
    check_sized(name, screen, 80, 24);
}

fn check_sized(name: &str, screen: &mut Screen, width: u16, height: u16) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/top/screens").join(format!("{name}.txt"));
    let picture = picture(screen, width, height);
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::write(&path, &picture).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(picture == expected, "{name} is not {}:\n{picture}", path.display());
}

fn press(screen: &mut Screen, codes: &[KeyCode]) {
    for code in codes {
        assert_eq!(screen.key(KeyEvent::new(*code, KeyModifiers::NONE)), Flow::GoOn);
        screen.resized(24);
    }
}

fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn screen() -> Screen {
    let pods = KindState {
        at: 0,
        resource: "pods".into(),
        phase: Phase::Watching,
        objects: 123_456,
        version: "9876543".into(),
        rate: 4_987.0,
        lag: Duration::from_millis(12),
        lists: 3,
        relists: counts(&[("expired", 1), ("transport", 1)]),
        errors: counts(&[("expired", 1), ("transport", 4)]),
        bytes: 1_234_567_890,
        kept: Some(98_765_432),
        last_error: None,
        since_received: Some(Duration::from_secs(1)),
    };
    let deployments = KindState {
        at: 1,
        resource: "deployments.apps".into(),
        phase: Phase::Waiting,
        objects: 24,
        version: "9876500".into(),
        last_error: Some("server returned 403: deployments.apps is forbidden".into()),
        errors: counts(&[("forbidden", 7)]),
        ..KindState::default()
    };
    let feed = |verb, highlight, what: &str, words: &str| FeedLine {
        time: "12:00:00".into(),
        verb,
        highlight,
        what: what.into(),
        words: words.into(),
    };
    let mut screen = Screen { server: "https://cluster.example:6443".into(), ..Screen::default() };
    screen.usage = ProcessUsage {
        uptime: Duration::from_secs(75),
        rss_bytes: Some(45_600_000),
        cpu_percent: Some(12.0),
    };
    screen.overview.kinds = vec![pods, deployments];
    screen.overview.feed = vec![
        feed("updated", Highlight::Changed, "deployment.apps shop/front", "replicas 2 -> 3"),
        feed("added", Highlight::Came, "pod shop/front-with-a-very-long-name-6b9f7-x2x4z", "Pending"),
        feed("deleted", Highlight::Went, "pod shop/cart-1", "Running, 1/1 ready"),
    ];
    screen
}

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

fn with_objects() -> Screen {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Enter]);
    let keys: Vec<_> = (0..100_000).map(|number| key(&format!("shop/front-{number:05}"))).collect();
    let objects = screen.objects.as_mut().unwrap();
    objects.answered(Query::default(), keys);
    fill(&mut screen);
    screen
}

fn fill(screen: &mut Screen) {
    let objects: &mut Objects = screen.objects.as_mut().unwrap();
    let row = |key: &Key| Row {
        namespace: "shop".into(),
        name: key.name().into(),
        age: "5d".into(),
        status: "Running, 2/2 ready, on node-7".into(),
    };
    objects.rows = objects.in_sight().iter().map(row).collect();
}

#[test]
fn the_overview_shows_every_kind() {
    check("overview", &mut screen());
    let mut second = screen();
    press(&mut second, &[KeyCode::Down]);
    check("overview_trouble", &mut second);
}

#[test]
fn narrow_terminals_leave_columns_out_and_no_digits() {
    for (width, height) in [(40, 12), (160, 45)] {
        check_sized(&format!("overview_{width}x{height}"), &mut screen(), width, height);
    }
    for width in 30..120 {
        let picture = picture(&mut screen(), width, 24);
        assert!(picture.contains("123,456"), "{width}:\n{picture}");
    }
}

#[test]
fn a_small_terminal_shows_whole_numbers_and_that_there_is_more() {
    let mut screen = screen();
    let small = picture(&mut screen, 40, 12);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let table: Vec<_> = small.lines().skip(2).take(3).map(words).collect();
    assert_eq!(table[0], ["KIND", "PHASE", "OBJECTS", "EV/S"], "{small}");
    assert_eq!(table[1], ["pods", "watching", "123,456", "4,987"], "{small}");
    assert_eq!(table[2][1..], ["waiting", "24", "0"], "{small}");
    let one = screen.overview.kinds[0].clone();
    screen.overview.kinds.extend((2..40).map(|at| KindState {
        at,
        resource: format!("kind-{at}"),
        ..one.clone()
    }));
    let shown = |small: &str| small.lines().filter(|line| line.contains("123,456")).count();
    let small = picture(&mut screen, 40, 12);
    let last = shown(&small) + 1;
    assert!((2..8).contains(&last) && small.contains(&format!("KIND 1-{last}/40")), "{small}");
    press(&mut screen, &[KeyCode::Char('G')]);
    let small = picture(&mut screen, 40, 12);
    assert!(
        small.contains(&format!("KIND {}-40/40", 41 - shown(&small))) && small.contains("kind-39"),
        "{small}"
    );
    press(&mut screen, &[KeyCode::Char('?')]);
    let small = picture(&mut screen, 40, 12);
    assert!(small.contains("more lines in a taller terminal"), "{small}");
}

#[test]
fn every_page_shows_that_its_kind_is_stale() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Down, KeyCode::Enter]);
    check("objects_stale", &mut screen);
    screen.object = Some(Object::of(1, key("shop/front")));
    for (width, reason) in [(80, "not connected: server returned 403"), (40, "")] {
        let title = picture(&mut screen, width, 24).lines().nth(1).unwrap_or_default().to_owned();
        assert!(title.starts_with("STALE  ") && title.contains(reason), "{title}");
    }
}

#[test]
fn a_search_in_an_object_scrolls_to_its_matches() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Enter]);
    screen.object.as_mut().unwrap().lines =
        (0..100).map(|number| (None, format!("field{number}: value"))).collect();
    let first = |screen: &Screen| screen.object.as_ref().unwrap().window.first;
    press(&mut screen, &[KeyCode::Char('/')]);
    press(&mut screen, &"FIELD.0:q".chars().map(KeyCode::Char).collect::<Vec<_>>());
    press(&mut screen, &[KeyCode::Backspace, KeyCode::Enter]);
    assert_eq!(first(&screen), 10);
    press(&mut screen, &[KeyCode::Char('n')]);
    assert_eq!(first(&screen), 20);
    check("object_search", &mut screen);
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!(screen.object.as_ref().unwrap().search, "");
}

#[test]
fn help_covers_the_page_and_any_key_closes_it() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Char('?')]);
    check("help", &mut screen);
    press(&mut screen, &[KeyCode::Char('x')]);
    check("overview", &mut screen);
}

#[test]
fn only_objects_in_sight_have_rows() {
    let mut screen = with_objects();
    assert_eq!(screen.objects.as_ref().unwrap().rows.len(), 20);
    check("objects", &mut screen);
    press(&mut screen, &[KeyCode::End]);
    fill(&mut screen);
    check("objects_end", &mut screen);
}

#[test]
fn the_chosen_object_stays_chosen_when_others_come() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Down, KeyCode::Down]);
    let objects = screen.objects.as_mut().unwrap();
    let chosen = objects.chosen().unwrap().clone();
    let more = std::iter::once(key("a/first")).chain(objects.keys.iter().cloned()).collect();
    objects.answered(Query::default(), more);
    assert_eq!(objects.chosen(), Some(&chosen));
}

#[test]
fn a_search_is_typed_and_removed() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Char('/'), KeyCode::Char('q'), KeyCode::Char('?')]);
    let search = |screen: &Screen| screen.objects.as_ref().map(|objects| objects.query.search.clone());
    assert_eq!(search(&screen).as_deref(), Some("q?"));
    check("search", &mut screen);
    press(&mut screen, &[KeyCode::Backspace, KeyCode::Enter, KeyCode::Esc]);
    assert_eq!(search(&screen).as_deref(), Some(""));
    press(&mut screen, &[KeyCode::Esc]);
    assert!(screen.objects.is_none());
}

#[test]
fn objects_are_sorted_and_filtered() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Char('s'), KeyCode::Char('n')]);
    let objects = screen.objects.as_mut().unwrap();
    assert_eq!(objects.query.order, Order::Age);
    objects.picker.as_mut().unwrap().values = Some(["", "billing", "shop"].map(str::to_owned).to_vec());
    check("picker", &mut screen);
    press(&mut screen, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    let objects = screen.objects.as_ref().unwrap();
    assert!(objects.picker.is_none());
    assert_eq!(objects.query.filters, [Filter { index: Index::Namespace, value: "shop".into() }]);
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!(screen.objects.as_ref().unwrap().query.filters, []);
}

#[test]
fn typing_narrows_the_values_of_a_filter() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Char('m')]);
    let nodes = (0..1_000).map(|number| format!("node-{number}"));
    let values: Vec<_> = std::iter::once(String::new()).chain(nodes).collect();
    screen.objects.as_mut().unwrap().picker.as_mut().unwrap().values = Some(values);
    let shown = |screen: &Screen| {
        let picker = screen.objects.as_ref().unwrap().picker.as_ref();
        picker.map(|picker| picker.shown().len())
    };
    press(&mut screen, &[KeyCode::Down, KeyCode::Down]);
    assert_eq!(shown(&screen), Some(1_001));
    press(&mut screen, &"E-1?7$".chars().map(KeyCode::Char).collect::<Vec<_>>());
    assert_eq!(shown(&screen), Some(2));
    check("picker_search", &mut screen);
    press(&mut screen, &[KeyCode::Char('q')]);
    assert_eq!(shown(&screen), Some(0));
    press(&mut screen, &[KeyCode::Enter]);
    assert_eq!(screen.objects.as_ref().unwrap().query.filters, [], "nothing was selected");
    assert_eq!(shown(&screen), Some(0), "the picker stays open");
    press(&mut screen, &[KeyCode::Esc, KeyCode::Esc, KeyCode::Char('m')]);
    let values = Some(["", "node-7", "node-17"].map(str::to_owned).to_vec());
    screen.objects.as_mut().unwrap().picker.as_mut().unwrap().values = values;
    press(&mut screen, &[KeyCode::Char('1'), KeyCode::Char('x'), KeyCode::Backspace, KeyCode::Enter]);
    let chosen = Filter { index: Index::Node, value: "node-17".into() };
    assert_eq!(screen.objects.as_ref().unwrap().query.filters, [chosen]);
    press(&mut screen, &[KeyCode::Char('m'), KeyCode::Char('1'), KeyCode::Esc]);
    assert_eq!(shown(&screen), Some(0), "escape clears the search first");
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!(shown(&screen), None);
}

#[test]
fn an_object_shows_its_yaml_and_its_changes() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Enter]);
    let object: &mut Object = screen.object.as_mut().unwrap();
    assert_eq!((object.tab, object.key.as_str()), (Tab::Yaml, "shop/front-00000"));
    object.lines = (0..50).map(|number| (None, format!("field{number}: value"))).collect();
    press(&mut screen, &[KeyCode::PageDown, KeyCode::Down]);
    check("object", &mut screen);
    press(&mut screen, &[KeyCode::Tab]);
    let object = screen.object.as_mut().unwrap();
    assert_eq!((object.tab, object.window.first), (Tab::Changes, 0));
    object.lines = vec![
        (Some(Highlight::Strong), "12:00:00.000  updated".into()),
        (Some(Highlight::Went), "  - spec.replicas: 2".into()),
        (Some(Highlight::Came), "  + spec.replicas: 3".into()),
    ];
    check("object_changes", &mut screen);
    press(&mut screen, &[KeyCode::Esc]);
    assert!(screen.object.is_none() && screen.objects.is_some());
}

#[test]
fn each_page_fits_small_and_large_terminals() {
    for (width, height) in [(40, 12), (80, 24), (160, 45)] {
        let size = format!("{width}x{height}");
        let mut screen = with_objects();
        screen.scope = "context prod  -n shop  -l app=front".into();
        screen.resized(height);
        fill(&mut screen);
        check_sized(&format!("objects_{size}"), &mut screen, width, height);
        press(&mut screen, &[KeyCode::Enter]);
        let object = screen.object.as_mut().unwrap();
        object.tab = Tab::Changes;
        object.lines = vec![
            (Some(Highlight::Strong), "12:00:00.000  updated  by kubectl-edit".into()),
            (Some(Highlight::Went), "  - data[app.conf]:201: key200 = value".into()),
            (Some(Highlight::Came), "  + data[app.conf]:201: key200 = other".into()),
        ];
        check_sized(&format!("object_changes_{size}"), &mut screen, width, height);
    }
}

#[test]
fn kinds_are_sorted_by_any_column_and_the_chosen_one_stays() {
    let mut screen = screen();
    let names = |screen: &Screen| -> Vec<String> {
        screen.overview.kinds.iter().map(|kind| kind.resource.clone()).collect()
    };
    let chosen = |screen: &Screen| screen.overview.chosen().unwrap().resource.clone();
    press(&mut screen, &[KeyCode::Char('s')]);
    assert_eq!(names(&screen), ["deployments.apps", "pods"]);
    assert_eq!(chosen(&screen), "pods");
    check("overview_sorted", &mut screen);
    // Phase, objects, version, rate, lag, lists, relists and errors.
    press(&mut screen, &[KeyCode::Char('s'); 2]);
    assert_eq!((names(&screen)[0].as_str(), chosen(&screen).as_str()), ("pods", "pods"));
    press(&mut screen, &[KeyCode::Char('s'); 6]);
    assert_eq!(names(&screen), ["deployments.apps", "pods"], "7 errors are more than 5");
    press(&mut screen, &[KeyCode::Char('s')]);
    assert_eq!((screen.overview.order, names(&screen)[0].as_str()), (None, "pods"));
    // The chosen kind is opened, wherever it is in the list.
    press(&mut screen, &[KeyCode::Char('s'), KeyCode::Enter]);
    assert_eq!(screen.objects.as_ref().unwrap().at, 0);
}

#[test]
fn a_resource_to_add_is_typed() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Char(':')]);
    press(&mut screen, &"qjobs".chars().map(KeyCode::Char).collect::<Vec<_>>());
    assert!(!screen.prompt.as_ref().unwrap().is_submitted);
    press(&mut screen, &[KeyCode::Enter]);
    assert_eq!(
        (screen.prompt.as_ref().unwrap().text.as_str(), screen.prompt.as_ref().unwrap().is_submitted),
        ("qjobs", true)
    );
    screen.prompt.as_mut().unwrap().problem = Some("the server has no resource \"qjobs\"".into());
    check("prompt", &mut screen);
    press(&mut screen, &[KeyCode::Esc]);
    assert!(screen.prompt.is_none());
}

#[test]
fn deleted_objects_are_listed_on_request() {
    let mut screen = with_objects();
    press(&mut screen, &[KeyCode::Char('d')]);
    let objects = screen.objects.as_mut().unwrap();
    assert_eq!(objects.query.listed, Listed::Deleted);
    objects.answered(objects.query.clone(), vec![key("shop/cart-1")]);
    objects.rows = vec![Row {
        namespace: "shop".into(),
        name: "cart-1".into(),
        age: "12m".into(),
        status: "deleted at 12:00:00: OOMKilled, 0/1 ready".into(),
    }];
    check("deleted", &mut screen);
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!(screen.objects.as_ref().unwrap().query.listed, Listed::Existing);
    press(&mut screen, &[KeyCode::Char('r')]);
    assert_eq!(screen.objects.as_ref().unwrap().query.direction, Direction::Reversed);
}

#[test]
fn q_and_ctrl_c_quit() {
    let quits = |code, modifiers| screen().key(KeyEvent::new(code, modifiers)) == Flow::Quit;
    assert!(quits(KeyCode::Char('q'), KeyModifiers::NONE));
    assert!(quits(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert!(!quits(KeyCode::Esc, KeyModifiers::NONE));
}

#[test]
fn tiny_terminals_do_no_harm() {
    for (width, height) in [(1, 1), (10, 3), (20, 5), (200, 60)] {
        let mut screen = with_objects();
        for page in 0..3 {
            screen.resized(height);
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &screen, Theme::Plain)).unwrap();
            screen.has_help = page == 0;
            screen.object = (page == 1).then(|| Object::of(0, key("shop/front-00000")));
            screen.objects = screen.objects.filter(|_| page != 1);
        }
    }
}
