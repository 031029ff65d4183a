package mirror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// many is more than the brake lets go at once (H8).
const many = 15

func batch(name string, i int) string { return fmt.Sprintf("%s-%02d", name, i) }

// loseMany makes objects, and deletes them while hub-b's understudyd is down: to its next start they
// are merely missing.
func (r *run) loseMany(ctx context.Context, name string) error {
	for i := range many {
		if err := r.create(ctx, kube.SliceConfigs, slice(batch(name, i))); err != nil {
			return err
		}
	}
	if err := see.Eventually(ctx, patience, func() error { // the last one may be the first that is written
		n, _, err := r.copies(ctx, name)
		if err == nil && n != many {
			err = fmt.Errorf("%d of %d are copied", n, many)
		}
		return err
	}); err != nil {
		return err
	}
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	r.b.Kill()
	for i := range many {
		if err := r.a.Admin.Delete(ctx, kube.SliceConfigs.Path(pair.Project, batch(name, i))); err != nil {
			return err
		}
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	return r.holds(ctx, many)
}

// holds waits until hub-b's status shows so many held deletions.
func (r *run) holds(ctx context.Context, want int64) error {
	return see.Eventually(ctx, patience, func() error {
		o, err := r.b.Status(ctx)
		if err == nil && (o.Get("mirror") == nil || o.Int("mirror", "heldDeletes") != want) {
			err = fmt.Errorf("%v, not %d held deletions", o.Get("mirror"), want)
		}
		return err
	})
}

// synced waits until hub-b's mirror says that all of it is in order; of a hub that just started the
// armed record says so too soon.
func (r *run) synced(ctx context.Context) error {
	return see.Eventually(ctx, 2*patience, func() error {
		_, err := r.ctl(ctx, r.b, 0, []string{"mirror        Synced, complete"}, "sync", "status")
		return err
	})
}

// copies counts hub-b's copies of a batch.
func (r *run) copies(ctx context.Context, name string) (n int, kept int, err error) {
	list, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "")+"?labelSelector="+copyLabel)
	for _, o := range list.Items() {
		if strings.HasPrefix(o.Name(), name+"-") {
			n++
			if o.Text("metadata", "annotations", marks+"delete-discarded") != "" {
				kept++
			}
		}
	}
	return n, kept, err
}

func (r *run) held(ctx context.Context) error {
	if err := r.loseMany(ctx, "kept"); err != nil {
		return err
	}
	r.ctlCheck(ctx, "held deletions make their kind Blocked, with the list's id", r.b, 0,
		[]string{"SliceConfig          Blocked", "held          list ", "SliceConfig kubeslice-cisco/kept-00: its deletion is held"}, "sync", "status")
	r.ctlCheck(ctx, "without a terminal and a name nothing is confirmed", r.b, 1, []string{"not confirmed", "--yes hub-b"}, "sync", "confirm-deletes")
	r.ctlCheck(ctx, "nor with another hub's name", r.b, 1, []string{"this hub is hub-b"}, "sync", "confirm-deletes", "--yes", "hub-a")
	r.ctlCheck(ctx, "nor for another list than the one that is held", r.b, 1, []string{"NO  their list", "another list of deletions is held by now"},
		"sync", "confirm-deletes", "--yes", "hub-b", "--list", "0123456789abcdef")
	r.ctlCheck(ctx, "a dry run lists them and deletes none", r.b, 0, []string{"SliceConfig kubeslice-cisco/kept-14: is deleted", "15 copies are deleted; nothing was written"},
		"sync", "confirm-deletes", "--dry-run")
	r.check("they are all there", r.holds(ctx, many))
	asked := time.Now()
	r.ctlCheck(ctx, "sync diff tells them", r.b, 1, []string{"SliceConfig kubeslice-cisco/kept-03: only on this hub (its deletion is held", "15 differ"}, "sync", "diff")
	r.check("and looks at all of them again after one pause", func() error {
		if took := time.Since(asked); took > 10*time.Second {
			return fmt.Errorf("15 that differ took it %s", took)
		}
		return nil
	}())
	r.ctlCheck(ctx, "sync discard", r.b, 0, []string{"15 copies stay and are left alone"}, "sync", "discard", "--yes", "hub-b")
	r.check("keeps the copies and says so on each", see.Eventually(ctx, patience, func() error {
		n, kept, err := r.copies(ctx, "kept")
		if err == nil && (n != many || kept != many) {
			err = fmt.Errorf("%d copies, %d of them marked", n, kept)
		}
		return err
	}))
	r.b.Kill()
	if err := r.b.Start(); err != nil {
		return err
	}
	if err := r.synced(ctx); err != nil {
		return err
	}
	r.check("a restart does not ask again", r.holds(ctx, 0))
	r.ctlCheck(ctx, "they are listed as left out, with the reason", r.b, 0, []string{"excluded    SliceConfig kubeslice-cisco/kept-00: kept though"}, "sync", "status", "--excluded")
	r.ctlCheck(ctx, "and are no difference", r.b, 0, []string{"all are equal"}, "sync", "diff")
	if err := r.create(ctx, kube.SliceConfigs, slice("kept-00")); err != nil {
		return err
	}
	r.check("one that the source has again follows again", copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "kept-00"), func(o kube.Object) error {
		if o.Text("metadata", "annotations", marks+"delete-discarded") != "" {
			return errors.New("it is still marked")
		}
		return nil
	}))
	if err := r.loseMany(ctx, "gone"); err != nil {
		return err
	}
	r.ctlCheck(ctx, "sync confirm-deletes", r.b, 0, []string{"confirm-deletes", "15 copies are deleted"}, "sync", "confirm-deletes", "--yes", "hub-b")
	r.check("lets exactly these go", see.Eventually(ctx, patience, func() error {
		n, _, err := r.copies(ctx, "gone")
		if kept, _, _ := r.copies(ctx, "kept"); err == nil && (n != 0 || kept != many) {
			err = fmt.Errorf("%d are left, and %d of the others", n, kept)
		}
		return err
	}))
	if err := r.holds(ctx, 0); err != nil {
		return err
	}
	r.ctlCheck(ctx, "a second confirmation is refused: nothing is held", r.b, 1, []string{"none is held"}, "sync", "confirm-deletes", "--yes", "hub-b")
	r.ctlCheck(ctx, "accept-restore is refused while the source has not gone back", r.b, 1, []string{"NO  the source", "has not gone back in time"}, "sync", "accept-restore", "--yes", "hub-b")
	return r.armed(ctx, r.b)
}

// strangeRequests come over admin.sock as bytes.
func (r *run) strangeRequests(ctx context.Context) error {
	elector, syncer := r.pid("elector"), r.pid("syncer")
	for _, strange := range []struct{ name, request, answer string }{
		{"a kind of 2 KiB", `{"verb":"sync-diff","kind":"` + strings.Repeat("x", 900) + `"}`, "longer than the name of any kind"},
		{"more than 1 KiB", `{"verb":"sync-diff","kind":"` + strings.Repeat("x", 2000) + `"}`, ""},
		{"a list that is a number", `{"verb":"sync-discard","list":12}`, "of another type than it takes"},
		{"a list that is too long", `{"verb":"sync-discard","list":"0123456789abcdef0"}`, "no list of held deletions is named"},
		{"an unknown member", `{"verb":"sync-diff","force":true}`, "a member that its verb does not know"},
		{"no nonce", `{"verb":"sync-accept-restore","hub":"hub-b"}`, "has changed meanwhile: look again"},
		{"the nonce of another time", `{"verb":"sync-accept-restore","hub":"hub-b","nonce":"0123456789abcdef"}`, "has changed meanwhile: look again"},
		{"an unknown verb", `{"verb":"sync-everything"}`, "known"},
		{"a kind with a quote", `{"verb":"sync-diff","kind":"\"}"}`, "one that is mirrored"},
	} {
		out, err := r.send(strange.request)
		if err == nil && !strings.Contains(out, strange.answer) {
			err = fmt.Errorf("answer %q", out)
		}
		r.check("admin.sock: "+strange.name+" is refused", err)
	}
	first, err := net.Dial("unix", r.b.AdminSocket())
	if err != nil {
		return err
	}
	fmt.Fprintln(first, `{"verb":"sync-diff"}`)
	time.Sleep(20 * time.Millisecond)
	out, err := r.send(`{"verb":"sync-resync"}`)
	if err == nil && !strings.Contains(out, "another command to the mirror is under way") && !strings.Contains(out, "done") {
		err = fmt.Errorf("answer %q", out)
	}
	r.check("admin.sock: a second command meanwhile is refused, or the first has ended", err)
	first.Close()
	for range 60 {
		c, err := net.Dial("unix", r.b.AdminSocket())
		if err != nil {
			continue
		}
		fmt.Fprintln(c, `{"verb":"sync-diff"}`)
		c.Close() // nobody waits for it
	}
	// How many of those were heard depends on the machine; with as many more there are too many.
	refused := false
	for n := 0; n < 40 && !refused; n++ {
		out, err := r.send(`{"verb":"sync-diff"}`)
		refused = err == nil && strings.Contains(out, "30 commands a minute")
	}
	if !refused {
		err = errors.New("none was refused")
	}
	r.check("admin.sock: a flood of commands whose clients go away is bounded", err)
	if r.pid("elector") != elector || r.pid("syncer") != syncer {
		err = errors.New("a process was started anew")
	}
	r.check("none of it ends a process", err)
	if out, err := exec.CommandContext(ctx, filepath.Join(r.Root, "build/understudyctl"), "sync", "diff", "--bogus").CombinedOutput(); err == nil || !strings.Contains(string(out), "unknown word --bogus") {
		r.check("a word that is none is refused by name", fmt.Errorf("%v: %s", err, out))
	}
	return r.armed(ctx, r.b)
}

// send gives hub-b's admin socket one line and returns what came back.
func (r *run) send(line string) (string, error) {
	c, err := net.Dial("unix", r.b.AdminSocket())
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintln(c, line)
	var out strings.Builder
	block := make([]byte, 65536)
	for {
		n, err := c.Read(block)
		out.Write(block[:n])
		if err != nil {
			return out.String(), nil
		}
	}
}

// pid is that of a role of hub-b.
func (r *run) pid(name string) int {
	for _, p := range r.b.Roles() {
		if p.Name == name {
			return p.Pid
		}
	}
	return 0
}
