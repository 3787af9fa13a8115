use serde_json::json;

use super::*;

/// A value with the names that Go's types have.
fn event() -> Value {
    json!({
        "metadata": {"name": "web.1", "uid": "u1"},
        "message": "Back-off <restarting>", "type": "Warning", "count": 3, "empty": "",
        "firstTimestamp": "2026-05-01T12:00:00Z", "eventTime": null,
        "involvedObject": {
            "kind": "Pod", "name": "web", "apiVersion": "v1",
            "labels": {"app": "shop", "app.kubernetes.io/name": "web"},
            "owners": [{"name": "a"}, {"name": "b"}],
        },
    })
}

fn method(_: &Value, name: &str) -> Option<Value> {
    (name == "GetTimestampMs").then(|| json!(1_700_000_000_000_i64))
}

fn render(text: &str) -> Result<String, String> {
    let template = Template::parse(text).map_err(|error| error.to_string())?;
    template.render(&event(), method).map_err(|error| error.to_string())
}

#[track_caller]
fn renders(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(render(text).as_deref(), Ok(*expected), "{text}");
    }
}

#[test]
fn fields_have_the_names_of_go_and_those_of_json() {
    renders(&[
        ("plain { text }", "plain { text }"),
        ("{{ .Message }}", "Back-off <restarting>"),
        ("{{.InvolvedObject.APIVersion}}/{{ .involvedObject.kind }}", "v1/Pod"),
        ("{{ .InvolvedObject.Labels.app }}", "shop"),
        ("{{ index .InvolvedObject.Labels \"app.kubernetes.io/name\" }}", "web"),
        ("{{ .GetTimestampMs }}", "1700000000000"),
        ("{{ .Count }} {{ $.Type }}", "3 Warning"),
        ("[{{ .InvolvedObject.Labels.owner }}][{{ .Nothing.At.All }}]", "[][]"),
        ("{{ (index .InvolvedObject.Owners 1).name }}", "b"),
        ("{{/* a comment with }} in it? no */}}x", "x"),
        ("a {{- \" b \" -}} c", "a b c"),
    ]);
}

/// An argument may fail that Go does not evaluate.
#[test]
fn and_and_or_evaluate_no_argument_after_the_one_that_decides() {
    renders(&[
        ("{{ and .empty (index .InvolvedObject.Owners 7) }}", ""),
        ("{{ or .Type (slice .Message 0 99) }}", "Warning"),
        ("{{ if and (gt (len .Message) 99) (eq (slice .Message 0 99) \"x\") }}a{{ else }}b{{ end }}", "b"),
        ("{{ .Count | and .Type }} {{ .Count | or .empty }} {{ .Count | and .empty }}.", "3 3 ."),
    ]);
    let failed = render("{{ and .Type (index .InvolvedObject.Owners 7) }}").unwrap_err();
    assert_eq!(failed, "index: there is no item 7");
    assert_eq!(render("{{ and }}").unwrap_err(), "and: the arguments do not fit (0 given)");
}

#[test]
fn times_have_the_methods_of_go() {
    renders(&[
        ("{{ .FirstTimestamp.Format \"2006-01-02 15:04:05 MST\" }}", "2026-05-01 12:00:00 UTC"),
        ("{{ .FirstTimestamp.Unix }} {{ .FirstTimestamp.UnixMilli }}", "1777636800 1777636800000"),
        ("{{ .FirstTimestamp.Time.UTC.Format `Jan _2` | quote }}", "\"May  1\""),
        ("{{ printf \"at %s\" (.FirstTimestamp.Format \"15:04\") }}", "at 12:00"),
        ("{{ with .FirstTimestamp }}{{ .Format \"2006\" }}{{ end }}", "2026"),
        (
            "{{ $at := .FirstTimestamp }}{{ $at.Format \"2006\" }} {{ $at.UnixNano }}",
            "2026 1777636800000000000",
        ),
        ("[{{ .EventTime.Format \"2006\" }}][{{ .Nothing.Unix }}]", "[][]"),
        (
            "{{ .FirstTimestamp.IsZero }} {{ .EventTime.IsZero }} {{ .EventTime.UTC.IsZero }}",
            "false true true",
        ),
        ("{{ (now).Format \"MST\" }}", "UTC"),
    ]);
}

#[test]
fn blocks_branch_iterate_and_have_variables() {
    renders(&[
        ("{{ if eq .Type \"Warning\" }}!{{ else }}.{{ end }}", "!"),
        ("{{ if .empty }}a{{ else if gt .Count 2 }}b{{ else }}c{{ end }}", "b"),
        ("{{ with .InvolvedObject }}{{ .Name }}{{ end }}", "web"),
        ("{{ with .empty }}a{{ else }}{{ .Type }}{{ end }}", "Warning"),
        ("{{ range .InvolvedObject.Owners }}{{ .name }},{{ end }}", "a,b,"),
        ("{{ range $at, $owner := .InvolvedObject.Owners }}{{ $at }}{{ $owner.name }} {{ end }}", "0a 1b "),
        (
            "{{ range $key, $value := .InvolvedObject.Labels }}{{ $key }}={{ $value }};{{ end }}",
            "app=shop;app.kubernetes.io/name=web;",
        ),
        ("{{ range .nothing }}a{{ else }}none{{ end }}", "none"),
        ("{{ range until 9 }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}", "012"),
        ("{{ range until 4 }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "013"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = add $x 1 }}{{ $y := 9 }}{{ end }}{{ $x }}", "2"),
    ]);
}

#[test]
fn functions_work_as_in_go_and_sprig() {
    renders(&[
        ("{{ .Message | upper | trunc 8 }}", "BACK-OFF"),
        ("{{ .empty | default \"none\" | quote }}", "\"none\""),
        ("{{ toJson .InvolvedObject.Labels }}", r#"{"app":"shop","app.kubernetes.io/name":"web"}"#),
        ("{{ toJson .Nothing }}", "{}"),
        ("<pre>{{ toPrettyJson .Message }}</pre>", r#"<pre>"Back-off \u003crestarting\u003e"</pre>"#),
        ("{{ toJson \"a & <b>\" }} {{ toRawJson \"a & <b>\" }}", r#""a \u0026 \u003cb\u003e" "a & <b>""#),
        ("{{ (fromJson (toJson .)).message }}", "Back-off <restarting>"),
        ("{{ .Message | replace \"-\" \"_\" | lower }}", "back_off <restarting>"),
        (
            "{{ printf \"%s/%v:%d %q %.1f%%\" .InvolvedObject.Kind .InvolvedObject.Name .Count \"a\" 1.25 }}",
            "Pod/web:3 \"a\" 1.2%",
        ),
        ("{{ ternary \"bad\" \"good\" (eq .Type \"Warning\") }}", "bad"),
        ("{{ and .Type .Count }} {{ or .empty \"x\" }} {{ not .empty }}", "3 x true"),
        ("{{ coalesce .empty .Nothing .Type }}", "Warning"),
        ("{{ join \"-\" (list 1 2 3) }} {{ len (splitList \",\" \"a,b\") }}", "1-2-3 2"),
        ("{{ contains \"off\" .Message }} {{ hasPrefix \"Back\" .Message }}", "true true"),
        ("{{ trimSuffix \".1\" .metadata.name }} {{ trimAll \"-\" \"--a-\" }}", "web a"),
        ("{{ add 1 2 3 }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }}", "6 3 6 3 1"),
        ("{{ date \"2006-01-02\" \"2026-05-01T01:02:03Z\" }}", "2026-05-01"),
        ("{{ regexReplaceAll \"[aeiou]\" \"pod\" \"x\" }} {{ regexMatch \"^p\" \"pod\" }}", "pxd true"),
        ("{{ b64enc \"a:b\" }} {{ urlquery \"a b&c\" }} {{ html \"<a>\" }}", "YTpi a+b%26c &lt;a&gt;"),
        ("{{ dict \"b\" 1 \"a\" (list 1 2) }} {{ get (dict \"k\" \"v\") \"k\" }}", "map[a:[1 2] b:1] v"),
        ("{{ indent 2 \"a\\nb\" }}|{{ repeat 3 \"x\" }}|{{ abbrev 5 \"abcdefgh\" }}", "  a\n  b|xxx|ab..."),
        ("{{ fromJson \"{\\\"a\\\":[1]}\" | toJson }}", r#"{"a":[1]}"#),
        ("{{ title \"back off\" }} {{ first (list 1 2) }} {{ last (list 1 2) }}", "Back Off 1 2"),
    ]);
}

/// The check of the size must not refuse a result that fits.
#[test]
fn a_replacement_with_references_works_in_a_long_text() {
    renders(&[
        ("{{ regexReplaceAll \"(x)\" (repeat 5000 \"x\") \"$1\" | len }}", "5000"),
        (
            "{{ regexReplaceAll \"(x+)(-)\" (cat (repeat 5000 \"x-\") \"end\") \"$2$1$2\" | trunc 6 }}",
            "-x--x-",
        ),
        // The match is long, and its replacement is shorter.
        (
            "{{ regexReplaceAll \"x+\" (cat (repeat 200000 \"x\") \"end\") (repeat 100000 \"y\") | len }}",
            "100004",
        ),
    ]);
}

/// An Event must not become a dead letter because it lacks a field that other Events have.
#[test]
fn a_field_that_is_absent_is_the_empty_text_in_each_function() {
    renders(&[
        ("[{{ .EventTime }}][{{ .Nothing }}][{{ .InvolvedObject.Labels.owner.name }}]", "[][][]"),
        ("[{{ date \"2006\" .EventTime }}][{{ .Series.LastObservedTime | date \"15:04\" }}]", "[][]"),
        (
            "[{{ unixEpoch .EventTime }}][{{ .EventTime.Format \"2006\" }}][{{ date \"2006\" .empty }}]",
            "[][][]",
        ),
        ("{{ add .Count .Series.Count }} {{ max .Nothing 2 }} {{ sub 1 (get .Nothing \"k\") }}", "3 2 1"),
        (
            "{{ int .Nothing }} {{ float64 .Nothing | int }} {{ len .Nothing }} {{ has 1 .Nothing }}",
            "0 0 0 false",
        ),
        ("[{{ fromJson .InvolvedObject.Annotations.config }}][{{ (fromJson .empty).a.b }}]", "[][]"),
        (
            "[{{ upper .Nothing }}{{ quote .Nothing }}{{ printf \"%s\" .Nothing }}{{ index .Nothing \"a\" \"b\" }}]",
            "[]",
        ),
        (
            "[{{ range .Nothing }}x{{ end }}{{ with .Nothing.At.All }}y{{ end }}{{ join \",\" .Nothing }}]",
            "[]",
        ),
        ("{{ if eq .Nothing \"a\" }}a{{ else }}b{{ end }}", "b"),
        ("{{ eq .Nothing \"\" }} {{ ne .Nothing \"\" }} {{ eq .Nothing \"a\" \"\" }}", "true false true"),
        ("{{ eq .Series.Count 0 }} {{ eq .Nothing false }} {{ eq .Nothing 1 }}", "true true false"),
        ("{{ ne .Nothing \"a\" }} {{ ne \"\" .Nothing }} {{ eq .Nothing .Series }}", "true false true"),
        ("{{ gt .Series.Count 5 }} {{ lt .Nothing .Count }} {{ ge .Count .Nothing }}", "false true true"),
        ("{{ lt .Nothing \"a\" }} {{ le .Nothing .Nothing }}", "true true"),
        ("[{{ slice .Nothing 0 2 }}{{ range until .Nothing }}x{{ end }}]", "[]"),
    ]);
    assert_eq!(render("{{ div 1 .Nothing }}").unwrap_err(), "div: the result is not a number of 64 bits");
}

#[test]
fn a_malformed_template_is_refused_when_it_is_parsed() {
    for (text, why) in [
        ("{{ .Message", "has no `}}`"),
        ("{{ if .A }}x", "`{{ if }}` has no `{{ end }}`"),
        ("{{ end }}", "`{{ end }}` ends nothing"),
        ("{{ else }}", "belongs to nothing"),
        ("{{ if .A }}{{ else }}{{ else }}{{ end }}", "two `else`"),
        ("{{ shout .Message }}", "there is no function `shout`"),
        ("{{ .A | .B }}", "a function must follow `|`"),
        ("{{ .A .B }}", "`.B` is not expected here"),
        ("{{ .A.Unix 1 }}", "`1` is not expected here"),
        ("{{ .A.Format 1 2 }}", "`2` is not expected here"),
        ("{{ Format 1 .A }}", "there is no function `Format`"),
        ("{{ \"open }}", "has no `}}`"),
        ("{{ (.A }}", "`(` has no `)`"),
        ("{{ upper | }}", "a value is missing"),
        ("{{ if }}{{ end }}", "a value is missing"),
        ("{{ break }}", "outside a range"),
        ("{{ template \"x\" }}", "not supported"),
        ("{{ \"\\x\" }}", "is not an escape"),
        ("{{ # }}", "`#` is not expected"),
    ] {
        let error = render(text).unwrap_err();

        assert!(error.contains(why), "{text}: {error}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(1000), ")".repeat(1000));
    assert!(render(&deep).unwrap_err().contains("nested deeper"));
    let deep = format!("{}{}", "{{ if 1 }}".repeat(1000), "{{ end }}".repeat(1000));
    assert!(render(&deep).unwrap_err().contains("nested deeper"));
}

#[test]
fn a_mistake_that_only_a_value_shows_fails_and_never_panics() {
    for (text, why) in [
        ("{{ .Message.Foo }}", "has no field Foo"),
        ("{{ .FirstTimestamp.Foo }}", "has no field Foo"),
        ("{{ .FirstTimestamp.Format }}", "has no field Format"),
        ("{{ .Message.Unix }}", "has no field Unix"),
        ("{{ .Message.Format \"2006\" }}", "Format: `Back-off <restarting>` is not a time"),
        ("{{ .FirstTimestamp.Unix.Foo }}", "has no field Foo"),
        ("{{ $x }}", "the variable $x is not defined"),
        ("{{ index .InvolvedObject.Owners 7 }}", "index: there is no item 7"),
        ("{{ div 1 0 }}", "div: the result"),
        ("{{ add 9223372036854775807 1 }}", "64 bits"),
        ("{{ lt \"a\" 1 }}", "have no order"),
        ("{{ upper }}", "arguments"),
        ("{{ printf \"%s\" }}", "a value for the format is missing"),
        ("{{ printf \"%z\" 1 }}", "not supported"),
        ("{{ regexMatch \"(\" \"a\" }}", "is not a regular expression"),
        ("{{ date \"2006\" \"soon\" }}", "is not a time"),
        ("{{ range 1.5 }}{{ end }}", "cannot iterate"),
        ("{{ slice \"äö\" 1 }}", "outside"),
        ("{{ fail \"no owner\" }}", "no owner"),
    ] {
        let error = render(text).unwrap_err();

        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_template_that_loops_or_doubles_a_value_ends() {
    let loops = "{{ range until 1000 }}{{ range until 1000 }}{{ $x := add 1 1 }}{{ end }}{{ end }}";
    assert!(render(loops).unwrap_err().contains("too many steps"));

    let output = "{{ range until 1000 }}{{ repeat 1000 \"x\" }}{{ end }}";
    assert!(render(output).unwrap_err().contains("bytes"));

    for doubles in
        ["printf \"%s%s\" $x $x", "list $x $x", "print $x $x", "cat $x $x", "dict \"a\" $x \"b\" $x"]
    {
        let text =
            format!("{{{{ $x := \"ab\" }}}}{{{{ range until 100 }}}}{{{{ $x = {doubles} }}}}{{{{ end }}}}");
        let error = render(&text).unwrap_err();
        assert!(error.contains("bytes") || error.contains("steps"), "{doubles}: {error}");
    }

    for huge in [
        "{{ repeat 1000000000 \"x\" }}",
        "{{ indent 1000000000 \"x\" }}",
        "{{ replace \"\" (repeat 10000 \"x\") (repeat 10000 \"x\") }}",
        "{{ join (repeat 10000 \"x\") (until 1000) }}",
        "{{ regexReplaceAll \"\" (repeat 10000 \"x\") (repeat 10000 \"y\") }}",
        // The results are small enough for a value, and `len` prints little. Only the check before the work refuses them.
        "{{ regexReplaceAll \"x\" (repeat 400 \"x\") (repeat 1000 \"y\") | len }}",
        "{{ regexReplaceAll \"x+\" (repeat 4000 \"x\") (repeat 100 \"$0\") | len }}",
        "{{ regexReplaceAll \"(x)\" (repeat 400 \"x\") (repeat 1000 \"$1\") | len }}",
    ] {
        assert!(render(huge).unwrap_err().contains("bytes"), "{huge}");
    }
}

#[test]
fn no_part_of_a_template_panics() {
    let whole = "a {{- if and (eq .Type \"Warning\") $.Count }}{{ range $k, $v := .InvolvedObject.Labels -}} {{ $k | \
                 printf \"%s=%q\" | upper }}{{ else }}{{/* no */}}{{ end }}{{ else if not `x` }}{{ $x := -1.5 }}ä{{ end }}";
    let places: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
    for from in &places {
        for to in places.iter().filter(|to| *to > from) {
            // The template may be valid or not.
            render(&whole[*from..*to]).ok();
        }
    }
}
