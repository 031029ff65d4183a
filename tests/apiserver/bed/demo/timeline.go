// Package demo shows the main job of understudy on a pair, as a timeline that a person reads and
// as steps that a test counts: mirrored, the Active killed, the Standby promoted, the worker
// re-pointed. Each fact is seen from outside, on API servers, pages and logs; nothing is asked of
// the code under test but its status.
package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// width is the longest line that is printed.
const width = 100

// timeline prints one fact a line: time since the start, since the kill, hub, fact.
type timeline struct {
	out         io.Writer
	begin, kill time.Time
	check       bool // print a line for a test, too
	job         string
}

func (t *timeline) fact(hub, format string, arguments ...any) {
	t.factAt(time.Now(), hub, format, arguments...)
}

func (t *timeline) factAt(at time.Time, hub, format string, arguments ...any) {
	since := ""
	if !t.kill.IsZero() {
		since = fmt.Sprintf("%+.2f", at.Sub(t.kill).Seconds())
	}
	text := fmt.Sprintf(format, arguments...)
	line := fmt.Sprintf("%7.2f %7s  %-8s  %s", at.Sub(t.begin).Seconds(), since, hub, text)
	if len(line) > width {
		line = line[:width]
	}
	fmt.Fprintln(t.out, strings.TrimRight(line, " "))
	if t.check {
		fmt.Fprintf(t.out, "ok - %s: %s: %s\n", t.job, hub, text)
	}
}
