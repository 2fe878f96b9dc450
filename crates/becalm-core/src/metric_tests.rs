//! Tests of numbers that programs print.

use super::*;

fn pattern(text: &str, take: Take) -> Metric {
    Metric::new(&Wanted { pattern: Some(text.into()), json: None, quantity: None, take, stream: None })
        .unwrap()
}

fn whole(text: &str) -> Printed {
    Printed::whole(text)
}

fn find(metric: &Metric, stdout: &str, stderr: &str) -> Result<f64, MetricError> {
    metric.find(&whole(stdout), &whole(stderr))
}

fn json(path: &str) -> Metric {
    Metric::new(&serde_json::from_str(&format!("{{\"json\":{path}}}")).unwrap()).unwrap()
}

#[test]
fn the_last_match_counts_unless_the_first_is_requested() {
    let out = "10 % done, Time: 1.5\nTime: 2.25\n";
    assert_eq!(find(&pattern("Time: ([0-9.]+)", Take::Last), out, ""), Ok(2.25));
    assert_eq!(find(&pattern("Time: ([0-9.]+)", Take::First), out, ""), Ok(1.5));
}

#[test]
fn all_matches_are_added_up() {
    let sum = pattern("n=([0-9]+)", Take::Sum);
    assert_eq!(find(&sum, "n=1 n=20\nn=300\n", "n=5000"), Ok(321.0));
    assert_eq!(find(&sum, "", "n=7"), Ok(7.0));
    assert!(matches!(find(&sum, "m=1", ""), Err(MetricError::NoMatch(..))));
    let cut = Printed { first: "n=1\n".to_owned(), last: "n=2\n".to_owned(), lost: 9 };
    let error = sum.find(&cut, &whole("")).unwrap_err();
    assert!(matches!(error, MetricError::Cut(..)), "{error}");
}

#[test]
fn a_named_stream_is_the_only_one_that_is_searched() {
    let metric = |stream| {
        let wanted = format!("{{\"pattern\":\"n=([0-9]+)\",\"stream\":\"{stream}\"}}");
        Metric::new(&serde_json::from_str(&wanted).unwrap()).unwrap()
    };
    assert_eq!(find(&metric("stderr"), "n=1", "n=2"), Ok(2.0));
    assert_eq!(find(&metric("stdout"), "n=1", "n=2"), Ok(1.0));
    assert!(find(&metric("stdout"), "", "n=2").is_err());
    let cut = Printed { first: "a\n".to_owned(), last: "b\n".to_owned(), lost: 9 };
    assert_eq!(metric("stderr").find(&cut, &whole("n=2")), Ok(2.0));
}

#[test]
fn standard_error_is_searched_if_standard_output_has_no_match() {
    let time = pattern("Time: ([0-9.]+)", Take::Last);
    assert_eq!(find(&time, "hello", "Time: 3"), Ok(3.0));
    assert_eq!(find(&time, "Time: 4", "Time: 3"), Ok(4.0));
    assert_eq!(find(&json("[\"p99\"]"), "", "{\"p99\":7}"), Ok(7.0));
}

#[test]
fn numbers_with_separators_are_read_in_one_way_or_refused() {
    let any = pattern("n=(.*)", Take::Last);
    assert_eq!(find(&any, "n=1,234,567.5", ""), Ok(1_234_567.5));
    for bad in ["1,234", "1.234,5", "1_000", "1.234.567"] {
        let error = find(&any, &format!("n={bad}"), "").unwrap_err();
        assert!(matches!(error, MetricError::Ambiguous(..)), "{bad}: {error}");
    }
    for bad in ["0", "-1", "1e99", "3 s", ""] {
        let error = find(&any, &format!("n={bad}"), "").unwrap_err();
        assert!(matches!(error, MetricError::NoNumber(..)), "{bad}: {error}");
    }
    let error = find(&json("[\"a\"]"), "{\"a\": \"1,234\"}", "").unwrap_err().to_string();
    assert!(error.contains("two ways"), "{error}");
}

#[test]
fn a_part_of_a_number_does_not_match() {
    for (text, take) in
        [("Time: 1,234 ms", Take::First), ("Time: 1,234.5 ms", Take::Last), ("Time: 1.5e+06", Take::Last)]
    {
        for form in ["([0-9.]+)", "Time: ([0-9.]+)", "([0-9.]+) ms"] {
            let found = find(&pattern(form, take), text, "");
            assert!(!matches!(found, Ok(number) if number != 1234.5), "{form} of {text}: {found:?}");
        }
    }
    let error = find(&pattern("Time: ([0-9.]+)", Take::Last), "\u{b5} Time: 1,234 ms", "").unwrap_err();
    assert!(error.to_string().contains("found \"1\", which is a part of \"1,234\""), "{error}");
    assert_eq!(find(&pattern("^a,([0-9]+),", Take::Last), "a,12,345", ""), Ok(12.0), "a column of a table");
}

#[test]
fn a_metric_is_not_read_from_cut_output() {
    let cut = Printed { first: "n=1\n".into(), last: "n=3\n{\"a\":4}\n  {\"a\":5}\n".into(), lost: 99 };
    let none = whole("");
    assert_eq!(pattern("n=(.)", Take::First).find(&cut, &none), Ok(1.0));
    assert_eq!(pattern("n=(.)", Take::Last).find(&cut, &none), Ok(3.0));
    assert_eq!(json("[\"a\"]").find(&cut, &none), Ok(4.0), "the indented line is a part of another value");
    for metric in [pattern("m=(.)", Take::First), pattern("m=(.)", Take::Last)] {
        // The error is that the output is cut; the number in standard error is not used.
        let error = metric.find(&cut, &whole("m=7")).unwrap_err();
        assert!(matches!(error, MetricError::Cut(..)), "{error}");
    }
    let error =
        json("[\"a\"]").find(&Printed { last: "  1\n]\n".into(), ..cut }, &none).unwrap_err().to_string();
    assert!(error.contains("the last 6 of 109 bytes") && error.contains("was not stored"), "{error}");
}

#[test]
fn a_long_pattern_is_quoted_by_its_beginning() {
    let wanted = Wanted {
        pattern: Some(format!("({}", "a".repeat(6000))),
        json: None,
        quantity: None,
        take: Take::Last,
        stream: None,
    };
    let error = Metric::new(&wanted).unwrap_err().to_string();
    assert!(error.len() < 400 && error.contains("aaa…"), "{error}");
}

#[test]
fn a_json_path_has_names_and_places() {
    let out = "{\"jobs\":[{\"lat\":{\"99.0\":5}},{\"lat\":{\"99.0\":\"6.5\"}}]}";
    assert_eq!(find(&json("[\"jobs\",0,\"lat\",\"99.0\"]"), out, ""), Ok(5.0));
    assert_eq!(find(&json("[\"jobs\",-1,\"lat\",\"99.0\"]"), out, ""), Ok(6.5));
    let error = find(&json("[\"jobs\",2,\"lat\"]"), out, "").unwrap_err().to_string();
    assert!(error.contains("there is no jobs[2]"), "{error}");
    let error = find(&json("[\"jobs\"]"), out, "").unwrap_err().to_string();
    assert!(error.contains("not a number above zero"), "{error}");
    assert!(find(&json("[\"jobs\",-9]"), out, "").is_err());
}

#[test]
fn the_last_json_line_after_other_lines_counts() {
    let out = "starting\n{\"p99\":1}\n{\"p99\":2}\n3\ndone\n";
    assert_eq!(find(&json("[\"p99\"]"), out, ""), Ok(2.0));
}

#[test]
fn a_missing_metric_is_reported_with_the_last_line() {
    let time = pattern("Time: ([0-9.]+)", Take::Last);
    let message = |out, err| find(&time, out, err).unwrap_err().to_string();
    assert!(message("one\ntwo\n\n", "err").ends_with("Last line of its standard output: \"two\"."));
    assert!(message("", "no luck\n").ends_with("Last line of its standard error: \"no luck\"."));
    assert!(message("", "").ends_with("It printed nothing."));
    assert!(find(&json("[\"a\"]"), "x", "").unwrap_err().to_string().contains("not JSON"));
}

#[test]
fn a_pattern_has_one_group() {
    let of = |text: &str| Metric::new(&serde_json::from_value(serde_json::json!({"pattern": text})).unwrap());
    assert!(matches!(of("Time: [0-9]+"), Err(MetricError::Groups(_, 0))));
    assert!(matches!(of("(a)(b)"), Err(MetricError::Groups(_, 2))));
    assert!(of("(?:a|b)([0-9]+)").is_ok());
    assert!(matches!(of("(["), Err(MetricError::Syntax(..))));
}

#[test]
fn a_metric_has_exactly_one_source() {
    let of = |text: &str| Metric::new(&serde_json::from_str(text).unwrap());
    for bad in ["{}", r#"{"pattern":"(a)","json":["b"]}"#, r#"{"json":["b"],"quantity":"memory:peak"}"#] {
        assert_eq!(of(bad).unwrap_err(), MetricError::Neither, "{bad}");
    }
    let found = of(r#"{"quantity":"memory:peak"}"#).unwrap();
    assert_eq!(found.quantity().map(|row| row.unit), Some("bytes"));
    assert!(find(&found, "memory:peak 5", "").is_err());
    let missing = of(r#"{"quantity":"memory:heat"}"#).unwrap_err();
    assert_eq!(missing, MetricError::NoQuantity("memory:heat".to_owned()));
}
