/// Paths that don't mean a folder of that name, with a part of the advice.
package let flawedPaths: [(path: String, advice: String)] = [
    ("", "is blank"), (" ", "is blank"), ("\u{3164}\u{FE0F}", "is blank"), ("\u{3000}\n", "is blank"),
    ("/tmp/a\u{0}b", "has a NUL"),
    ("~", "not expanded"), ("~/events", "not expanded"),
    ("~root/events", "not expanded"), ("$HOME/events", "not expanded"), ("${HOME}/events", "not expanded"),
    ("%HOME%/events", "not expanded"), ("file:///tmp/events", "is a URL"), ("FILE:///tmp/events", "is a URL"),
    ("file:events", "is a URL"), ("s3://bucket/events", "is a URL"), ("git+ssh://host/events", "is a URL"),
    ("/tmp/events\n", "invisible"), ("\u{FEFF}/tmp/events", "invisible"), ("/tmp/events\u{200B}", "invisible"),
    ("\u{2028}events", "invisible"),
]
