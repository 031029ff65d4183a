package leader

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// entry is one write as a writer noted it.
type entry struct {
	hub            string
	sent, answered time.Duration
	term           uint64
	op, outcome    string
	object         string
	value          time.Duration // of lists: when the object that is there was written
	err            string
	void           bool // nobody needs to know of it any more: its hub was lost right after it
}

// changes says that the hub acknowledged a change.
func (e *entry) changes() bool { return e.writes() && e.outcome == done }

func (e *entry) writes() bool { return e.op == puts || e.op == deletes }

// ledger is what the writers of both hubs have done so far, in the order in which it was sent.
type ledger struct {
	files   [2]string
	offsets [2]int64
	all     []entry
	judged  time.Duration // what was sent earlier was found wanting and told
}

// read takes in what was written since the last time.
func (l *ledger) read() error {
	had := len(l.all)
	for i, path := range l.files {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		if _, err = file.Seek(l.offsets[i], io.SeekStart); err == nil {
			err = l.take(i, bufio.NewReader(file))
		}
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(l.all) == had {
		return nil
	}
	bySent := func(a, b entry) int { return cmp.Compare(a.sent, b.sent) }
	// Only the end is out of order: whatever was sent before the first of the new ones stays.
	first, _ := slices.BinarySearchFunc(l.all[:had], slices.MinFunc(l.all[had:], bySent), bySent)
	slices.SortStableFunc(l.all[first:], bySent)
	return nil
}

func (l *ledger) take(i int, lines *bufio.Reader) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // the last one is still being written
			return nil
		}
		l.offsets[i] += int64(len(line))
		var e entry
		if _, err := fmt.Sscanf(line, "%s %d %d %d %s %s %s %d %q", &e.hub, &e.sent, &e.answered, &e.term, &e.op, &e.outcome,
			&e.object, &e.value, &e.err); err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		l.all = append(l.all, e)
	}
}

// count says how many changes ended in an outcome.
func (l *ledger) count(outcome string) (n int) {
	for _, e := range l.all {
		if e.writes() && e.outcome == outcome {
			n++
		}
	}
	return n
}

// find is the n-th change with an outcome.
func (l *ledger) find(outcome string, n int) entry {
	for _, e := range l.all {
		if e.writes() && e.outcome == outcome {
			if n == 0 {
				return e
			}
			n--
		}
	}
	return entry{}
}

// last is a hub's last change, or try of one.
func (l *ledger) last(hub string) entry {
	for _, e := range slices.Backward(l.all) {
		if e.writes() && e.hub == hub {
			return e
		}
	}
	return entry{}
}

// split is a time in which two hubs may lead: one is cut off from the other hub and from every worker.
type split struct{ from, to time.Duration }

// oneAtATime says of all writes that were acknowledged: no two hubs' overlap, and terms never fall.
func (l *ledger) oneAtATime(allowed []split) error {
	excused := func(e entry) bool {
		return slices.ContainsFunc(allowed, func(s split) bool { return e.sent >= s.from && (s.to == 0 || e.sent <= s.to) })
	}
	var last entry
	for _, e := range l.all {
		if !e.changes() || e.sent < l.judged || excused(e) {
			continue
		}
		switch {
		case last.hub != "" && e.hub != last.hub && e.sent < last.answered:
			return fmt.Errorf("two leaders: %s wrote from %v to %v under term %d, %s from %v under term %d",
				last.hub, last.sent, last.answered, last.term, e.hub, e.sent, e.term)
		case e.term < last.term:
			return fmt.Errorf("a term fell: %s wrote under term %d, then %s under term %d", last.hub, last.term, e.hub, e.term)
		}
		if e.hub != last.hub || e.answered > last.answered {
			last = e
		}
	}
	return nil
}

// lag is how far behind a mirror may be that is complete, and half of it when the pair has settled. What
// was acknowledged earlier than this before a hub is lost, must be on the other one; of what came later
// nobody can know.
const lag = time.Second

// nothingLost looks at what each hub has found that began to lead after a fault began: everything
// that was acknowledged until then is there, and nothing that was deleted.
func (l *ledger) nothingLost(begin, until time.Duration, term uint64) error {
	for i, last := range l.all {
		if last.op != lists || last.object != all || last.sent < begin || last.term == term {
			continue
		}
		found := map[string]time.Duration{}
		for _, e := range l.all[:i] {
			if e.op == lists && e.sent == last.sent && e.hub == last.hub {
				found[e.object] = e.value
			}
		}
		if err := l.holds(found, until, last); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) holds(found map[string]time.Duration, until time.Duration, by entry) error {
	newest, doomed := map[string]entry{}, map[string]bool{}
	for _, e := range l.all {
		if e.sent >= by.sent {
			break
		}
		if e.op == deletes { // answered or not, it may be gone
			doomed[e.object] = true
		}
		if e.changes() && !e.void && e.answered <= until {
			newest[e.object] = e
		}
		if e.op == keeps {
			delete(newest, e.object)
		}
	}
	for object, e := range newest {
		at, is := found[object]
		switch {
		case e.op == deletes && is:
			return fmt.Errorf("%s has under term %d %s, which %s deleted under term %d, %v before what may be lost",
				by.hub, by.term, object, e.hub, e.term, until-e.answered)
		case e.op == puts && !doomed[object] && (!is || at < e.sent):
			return fmt.Errorf("%s lacks under term %d the write of %s to %s under term %d, acknowledged %v before what may be lost (it has %v, not %v)",
				by.hub, by.term, e.hub, object, e.term, until-e.answered, at, e.sent)
		}
	}
	return nil
}

// void forgets the writes of a hub that was lost from a time on, "" for all hubs.
func (l *ledger) void(hub string, from time.Duration) {
	for i := range l.all {
		if e := &l.all[i]; (hub == "" || e.hub == hub) && e.answered > from {
			e.void = true
		}
	}
}
