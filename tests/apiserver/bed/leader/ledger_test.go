// Goal: the ledger finds two leaders, fallen terms and lost writes where they are, and nowhere else.
// Method: write logs as the writers write them, with one thing wrong each.
package leader

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// logs are what two writers noted: a writes under term 2 at 1, 2 and 3 s and deletes at 3.5 s, b finds
// what is there at 8 s under term 3 and writes at 9 s. The hub is lost at 5 s.
func logs() [2][]string {
	line := func(hub string, sent, answered float64, term int, op, outcome, object string, value float64) string {
		at := func(s float64) int64 { return int64(s * float64(time.Second)) }
		return fmt.Sprintf("%s %d %d %d %s %s %s %d %q", hub, at(sent), at(answered), term, op, outcome, object, at(value), "<nil>")
	}
	return [2][]string{{
		line("hub-a", 1, 1.01, 2, puts, done, "load-0", 1),
		line("hub-a", 2, 2.01, 2, puts, done, "made-1", 2),
		line("hub-a", 3, 3.01, 2, puts, done, "made-2", 3),
		line("hub-a", 3.5, 3.51, 2, deletes, done, "made-1", 3.5),
		line("hub-a", 4.9, 4.91, 2, puts, done, "load-0", 4.9), // too late to be seen for certain
	}, {
		line("hub-b", 8, 8.01, 3, lists, done, "load-0", 1),
		line("hub-b", 8, 8.01, 3, lists, done, "made-2", 3),
		line("hub-b", 8, 8.01, 3, lists, done, all, 2),
		line("hub-b", 9, 9.01, 3, puts, done, "load-0", 9),
	}}
}

func read(t *testing.T, logs [2][]string) *ledger {
	t.Helper()
	l := &ledger{}
	for i := range logs {
		l.files[i] = filepath.Join(t.TempDir(), "log")
		text := strings.Join(logs[i], "\n") + "\nhub-a 1 half a li"
		if err := os.WriteFile(l.files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.read(); err != nil {
		t.Fatal(err)
	}
	return l
}

const lost = 5 * time.Second // when the hub is

func TestALedgerInOrderHasNoFault(t *testing.T) {
	l := read(t, logs())
	if err := l.oneAtATime(nil); err != nil {
		t.Error(err)
	}
	if err := l.nothingLost(lost, lost-lag, 2); err != nil {
		t.Error(err)
	}
	if l.count(done) != 6 || l.last("hub-b").sent != 9*time.Second {
		t.Errorf("%d changes, the last of hub-b at %v", l.count(done), l.last("hub-b").sent)
	}
}

func TestWhatIsWrongInALedgerIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		file, line int
		old, new   string
		want       string
		allowed    []split
	}{
		"two leaders": {1, 3, "hub-b 9000000000 9010000000 3", "hub-b 4905000000 9010000000 3", "two leaders", nil},
		"a split is allowed": {1, 3, "hub-b 9000000000 9010000000 3", "hub-b 4905000000 9010000000 3", "",
			[]split{{from: 4 * time.Second}}},
		"a split that is over": {1, 3, "hub-b 9000000000 9010000000 3", "hub-b 4905000000 9010000000 3", "two leaders",
			[]split{{from: 1 * time.Second, to: 2 * time.Second}}},
		"a fallen term":        {1, 3, "9010000000 3 puts", "9010000000 1 puts", "a term fell", nil},
		"an old value":         {1, 0, "load-0 1000000000", "load-0 999999999", "lacks under term 3 the write", nil},
		"a lost object":        {1, 1, "made-2", "made-9", "lacks under term 3 the write", nil},
		"a deletion undone":    {1, 1, "made-2", "made-1", "has under term 3 made-1", nil},
		"a write not answered": {0, 2, "puts done made-2", "puts unknown made-2", "", nil},
	} {
		l := logs()
		line := l[c.file][c.line]
		if l[c.file][c.line] = strings.Replace(line, c.old, c.new, 1); l[c.file][c.line] == line {
			t.Fatalf("%s: %q is not in %q", name, c.old, line)
		}
		if name == "a deletion undone" { // and made-2 is there, too
			l[1] = append([]string{line}, l[1]...)
		}
		book := read(t, l)
		err := book.oneAtATime(c.allowed)
		if err == nil {
			err = book.nothingLost(lost, lost-lag, 2)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestWhatIsVoidNeedNotBeThere(t *testing.T) {
	l := logs()
	l[1][1] = strings.Replace(l[1][1], "made-2", "made-9", 1)
	book := read(t, l)
	book.void("hub-a", 2500*time.Millisecond)
	if err := book.nothingLost(lost, lost-lag, 2); err != nil {
		t.Error(err)
	}
}

func TestWhatABrakeKeptIsThereAgain(t *testing.T) {
	l := logs()
	text := strings.Join([]string{"hub-b 8000000000 8010000000 3 keeps done made-1 0 \"<nil>\"",
		"hub-a 12000000000 12010000000 4 lists done load-0 9000000000 \"<nil>\"",
		"hub-a 12000000000 12010000000 4 lists done made-1 2000000000 \"<nil>\"",
		"hub-a 12000000000 12010000000 4 lists done made-2 3000000000 \"<nil>\"",
		"hub-a 12000000000 12010000000 4 lists done * 3 \"<nil>\""}, "\n")
	for _, kept := range []bool{true, false} {
		logs := [2][]string{slices.Clone(l[0]), slices.Clone(l[1])}
		for line := range strings.Lines(text) {
			hub := int(line[4] - 'a')
			if kept || !strings.Contains(line, "keeps") {
				logs[hub] = append(logs[hub], strings.TrimSpace(line))
			}
		}
		err := read(t, logs).nothingLost(11*time.Second, 11*time.Second, 3)
		if (err == nil) != kept {
			t.Errorf("kept is %v: %v", kept, err)
		}
	}
}
