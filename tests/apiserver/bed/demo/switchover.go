package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// say sends bytes to a hub's admin.sock and returns the answer.
func say(h *pair.Hub, bytes string) (string, error) {
	c, err := net.DialTimeout("unix", h.AdminSocket(), patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	c.Write([]byte(bytes))
	answer := make([]byte, 65536)
	n, _ := c.Read(answer)
	return string(answer[:n]), nil
}

// commandHostile sends to admin.sock what nobody should, and comes as somebody who may not.
func (s *story) commandHostile(ctx context.Context) error {
	info, err := os.Stat(s.a.AdminSocket())
	if err != nil {
		return err
	}
	if info.Mode().Perm() != 0o660 || info.Sys().(*syscall.Stat_t).Gid != 0 {
		return fmt.Errorf("admin.sock has mode %v", info.Mode())
	}
	stranger := s.b.UIDBase() + 90
	if _, err := s.ctlAs(ctx, s.a, stranger, 1, "permission denied", "switchover"); err != nil {
		return err
	}
	elector := s.pid(s.a, "elector")
	for _, bad := range []string{"\n", "{}\n", "[]\n", "null\n", `{"verb":5}` + "\n", `{"verb":"switchover","too":"hub-b"}` + "\n",
		`{"verb":"erase"}` + "\n", `{"verb":"switchover","verb":"pause"}` + "\n", "GET / HTTP/1.1\r\n\r\n",
		strings.Repeat("[", 1000) + "\n", "{\"verb\":\"pause\x00\"}\n", "\xff\xfe\n"} {
		answer, err := say(s.a, bad)
		if err != nil {
			return err
		}
		if !strings.Contains(answer, `"outcome":"refused"`) {
			return fmt.Errorf("%.40q is answered with %q", bad, answer)
		}
		kube.Pause(ctx, 60*time.Millisecond)
	}
	if answer, _ := say(s.a, strings.Repeat("x", 5000)); answer != "" {
		return fmt.Errorf("5000 bytes without a line are answered with %q", answer)
	}
	// 60 clients that say nothing: the next one is served, since each of them has 2 s.
	var silent []net.Conn
	for range 60 {
		if c, err := net.Dial("unix", s.a.AdminSocket()); err == nil {
			silent = append(silent, c)
		}
	}
	at := time.Now()
	if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
		answer, _ := say(s.a, `{"verb":"operation","operation":"00000000000000aa"}`+"\n")
		return strings.Contains(answer, `"outcome":"unknown"`)
	}); err != nil {
		return fmt.Errorf("beside 60 silent clients: %w", err)
	}
	waited := time.Since(at)
	for _, c := range silent {
		c.Close()
	}
	if _, _, err := page(ctx, s.a, true, patience); err != nil || s.pid(s.a, "elector") != elector {
		return fmt.Errorf("hub-a does not lead as before: %w", err)
	}
	s.fact("hub-a", "admin.sock: strangers, 13 malformed requests and 60 silent clients change nothing (%d ms)", waited.Milliseconds())
	return nil
}

func (s *story) pid(h *pair.Hub, name string) int {
	for _, r := range h.Roles() {
		if strings.TrimSuffix(r.Name, " (deleted)") == name { // a build may go on beside it
			return r.Pid
		}
	}
	return 0
}

// aPid waits for a process of that name: 0 in its place would be this program's own process group.
func (s *story) aPid(ctx context.Context, h *pair.Hub, name string) (int, error) {
	_, err := until(ctx, patience, 20*time.Millisecond, func() bool { return s.pid(h, name) > 0 })
	if err != nil {
		return 0, fmt.Errorf("%s has no %s: %w", h.Name, name, err)
	}
	return s.pid(h, name), nil
}

func (s *story) checkSwitchover(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	out, err := s.ctl(ctx, s.a, 0, "all checks pass", "switchover", "--check", "--to", "hub-b")
	if err != nil {
		return err
	}
	s.fact("hub-a", "switchover --check: %d checks, each with value and limit, all pass", strings.Count(out, "must be: "))
	if _, err := s.ctl(ctx, s.b, 1, "NO  state of this hub", "switchover", "--check"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.a, 1, "not the peer", "switchover", "--to", "hub-a"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.a, 1, "NO  state of this hub", "promote", "--check"); err != nil {
		return err
	}
	s.fact("hub-b", "refuses to hand over what it does not have; hub-a a hub that is not its peer")
	return nil
}

// switchoverFails stops the mirror of hub-b, so that the barrier cannot be passed.
func (s *story) switchoverFails(ctx context.Context) error {
	_, before, err := page(ctx, s.a, true, patience)
	if err != nil {
		return err
	}
	pid, err := s.aPid(ctx, s.b, "syncer")
	if err != nil {
		return err
	}
	var at time.Time
	if err := s.unlessRefused(ctx, func() (string, error) {
		syscall.Kill(pid, syscall.SIGSTOP)
		defer syscall.Kill(pid, syscall.SIGCONT)
		at = time.Now()
		return s.ctl(ctx, s.a, 1, "goes on here", "switchover", "--wait")
	}); err != nil {
		return err
	}
	_, after, err := page(ctx, s.a, true, patience)
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("term %d went on as %d", before, after)
	}
	if err := s.workload(ctx, s.a); err != nil {
		return err
	}
	s.fact("hub-a", "hub-b's mirror stopped: switchover given up after %.1f s, exit 1, term %d goes on", time.Since(at).Seconds(), after)
	return s.ready(ctx)
}

// ready waits until hub-b could be promoted and hub-a sees it.
func (s *story) ready(ctx context.Context) error {
	_, err := until(ctx, patience, 200*time.Millisecond, func() bool {
		_, code, err := s.a.Ctl(ctx, 0, "switchover", "--check")
		return err == nil && code == 0
	})
	if err != nil {
		out, _, _ := s.a.Ctl(ctx, 0, "switchover", "--check")
		return fmt.Errorf("hub-b is not ready again: %w\n%s", err, out)
	}
	return nil
}

func (s *story) switchoverCalledOff(ctx context.Context) error {
	_, before := leading(s.a)
	pid, err := s.aPid(ctx, s.b, "syncer")
	if err != nil {
		return err
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	ended := make(chan error, 1)
	if err := s.unlessRefused(ctx, func() (string, error) {
		syscall.Kill(pid, syscall.SIGSTOP)
		begun, said := make(chan error, 1), make(chan string, 1)
		watched, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			out, err := s.ctl(ctx, s.a, 1, "called off", "switchover", "--wait")
			said <- out
			ended <- err
		}()
		go func() { begun <- s.state(watched, s.a, "draining") }()
		select {
		case err := <-begun:
			return "", err
		case out := <-said:
			syscall.Kill(pid, syscall.SIGCONT)
			return out, <-ended
		}
	}); err != nil {
		return err
	}
	if got := role(s.a, ctx); got != "Draining" && got != "Leading" {
		return fmt.Errorf("HubRole of hub-a is %s", got)
	}
	if _, err := s.ctl(ctx, s.a, 3, "under way", "promote", "--force", "--yes", "hub-a"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.a, 0, "called off", "switchover", "--call-off"); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	if _, after, err := page(ctx, s.a, true, patience); err != nil || !before {
		return fmt.Errorf("page %d: %w", after, err)
	}
	s.fact("hub-a", "a switchover under way is called off, and nothing else is started beside it")
	syscall.Kill(pid, syscall.SIGCONT)
	return s.ready(ctx)
}

// unlessRefused tries something again while the checks of a switchover refuse it: hub-b lists everything
// anew after a handover that was called off, and what hub-a knows of its mirror is up to two seconds old.
func (s *story) unlessRefused(ctx context.Context, try func() (out string, err error)) error {
	end := time.Now().Add(patience)
	for {
		out, err := try()
		if err == nil || !strings.Contains(out, "nothing was changed") || time.Now().After(end) {
			return err
		}
		if err := s.ready(ctx); err != nil {
			return err
		}
	}
}

// switchover hands over while somebody writes; what was acknowledged must be on hub-b afterwards.
func (s *story) switchover(ctx context.Context) error {
	collection := kube.SliceConfigs.Path(pair.Project, "")
	both := s.atMostOne()
	var written []string
	stopped := make(chan error, 1)
	closed := watch(ctx, s.a.Admin, pair.HubRoles.Path("", ""), false, func(o kube.Object) bool {
		return o.Text("spec", "role") == "Draining"
	})
	go func() {
		for i := 0; ; i++ {
			name := fmt.Sprint("load-", i)
			if _, err := s.a.Admin.Create(ctx, collection, slice(name)); err != nil {
				stopped <- err
				return
			}
			written = append(written, name)
		}
	}()
	kube.Pause(ctx, 300*time.Millisecond)
	var out string
	var took time.Duration
	err := s.unlessRefused(ctx, func() (said string, err error) {
		at := time.Now()
		said, err = s.ctl(ctx, s.a, 0, "hub-b leads with term 3", "switchover", "--to", "hub-b", "--wait")
		out, took = said, time.Since(at)
		return said, err
	})
	if err != nil {
		return err
	}
	if _, err := await(ctx, closed, patience); err != nil {
		return fmt.Errorf("HubRole Draining on hub-a: %w", err)
	}
	if _, _, err = page(ctx, s.b, true, patience); err != nil {
		return err
	}
	if n := both(); n != 0 {
		return fmt.Errorf("both pages were open at once, %d times", n)
	}
	if err := <-stopped; !strings.Contains(err.Error(), "UNDERSTUDY_FENCE") {
		return fmt.Errorf("the writer on hub-a ended with %w", err)
	}
	s.fact("hub-b", "%s; in %.2f s, never two open pages", strings.TrimSpace(out), took.Seconds())
	if err := s.nothingLost(ctx, collection, written); err != nil {
		return err
	}
	if err := s.workload(ctx, s.b); err != nil {
		return err
	}
	if pid := s.a.Workload(); pid != 0 {
		return fmt.Errorf("hub-a's workload still runs, pid %d", pid)
	}
	if err := s.pointed(ctx, s.b); err != nil {
		return err
	}
	return s.released(ctx)
}

func (s *story) nothingLost(ctx context.Context, collection string, written []string) error {
	list, err := s.b.Admin.Get(ctx, collection)
	if err != nil {
		return err
	}
	var there []string
	for _, o := range list.Items() {
		there = append(there, o.Name())
	}
	for _, name := range written {
		if !slices.Contains(there, name) {
			return fmt.Errorf("%s was written on hub-a and is not on hub-b (%d of %d are)", name, len(there), len(written))
		}
	}
	s.fact("hub-b", "all %d slices that hub-a acknowledged up to its fence are here", len(written))
	return nil
}

// released looks at the two Leases and at the old Active's new place.
func (s *story) released(ctx context.Context) error {
	if err := s.state(ctx, s.a, "standby"); err != nil {
		return err
	}
	own, err := lease(ctx, s.a)
	if err != nil {
		return err
	}
	peer, err := lease(ctx, s.b)
	if err != nil {
		return err
	}
	var offer, ack struct {
		ID, To string
		Synced bool
	}
	annotation := func(o kube.Object, name string) string {
		return o.Text("metadata", "annotations", "ha.kubeslice.io/"+name)
	}
	json.Unmarshal([]byte(annotation(own, "handover")), &offer)
	json.Unmarshal([]byte(annotation(peer, "handover-ack")), &ack)
	if own.Text("spec", "holderIdentity") != "" || offer.To != "hub-b" || !ack.Synced || ack.ID != offer.ID || offer.ID == "" {
		return fmt.Errorf("Leases: hub-a offers %+v, hub-b acknowledges %+v", offer, ack)
	}
	s.fact("hub-a", "standby; its Lease is released to hub-b under id %s, acknowledged", offer.ID)
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := s.a.Status(ctx)
		return err == nil && o.Get("mirror") != nil && o.Text("peer", "phase") == "leading"
	}); err != nil {
		return fmt.Errorf("hub-a mirrors hub-b: %w", err)
	}
	s.fact("hub-a", "its mirror follows hub-b")
	return nil
}

// forceBack promotes hub-a against a living hub-b, with consent and without.
func (s *story) forceBack(ctx context.Context) error {
	if _, err := s.ctl(ctx, s.a, 1, "--yes names hub-b", "promote", "--force", "--yes", "hub-b"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.a, 1, "not confirmed", "promote", "--force"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.a, 1, "NO  peer silent for", "promote", "--yes", "hub-a"); err != nil {
		return err
	}
	o, err := s.a.Status(ctx)
	if err != nil {
		return err
	}
	if answer, err := say(s.a, fmt.Sprintf(`{"verb":"promote","force":true,"acceptIncomplete":true,"hub":"hub-a","nonce":"%016x"}`+"\n", 1)); err != nil ||
		!strings.Contains(answer, "look again") {
		return fmt.Errorf("another nonce than %s is answered with %q, %w", o.Text("leadership", "nonce"), answer, err)
	}
	out, err := s.ctl(ctx, s.a, 0, "leads with term 4", "promote", "--force", "--accept-incomplete", "--yes", "hub-a")
	if err != nil {
		return err
	}
	if err := s.state(ctx, s.b, "standby"); err != nil {
		return err
	}
	if _, term, err := page(ctx, s.a, true, patience); err != nil || term != 4 {
		return fmt.Errorf("hub-a's page: term %d: %w", term, err)
	}
	if _, leads := leading(s.b); leads {
		return fmt.Errorf("hub-b's page is still open")
	}
	s.fact("hub-a", "%s; hub-b yielded", strings.TrimSpace(out))
	if err := s.pointed(ctx, s.a); err != nil {
		return err
	}
	return s.rateHolds(ctx)
}

// history sees that what happened is told by both hubs, also by a process that was not there.
func (s *story) history(ctx context.Context) error {
	reasons := func(h *pair.Hub) ([]string, error) {
		out, err := s.ctl(ctx, h, 0, "[", "history", "-o", "json")
		if err != nil {
			return nil, err
		}
		var events []kube.Object
		if err := json.Unmarshal([]byte(out), &events); err != nil {
			return nil, err
		}
		var all []string
		for _, e := range events {
			all = append(all, e.Text("reason"))
		}
		return all, nil
	}
	// A transition is recorded behind it, which a process that is killed at once does not live to do.
	if err := see.Eventually(ctx, patience, func() error {
		o, err := s.a.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
		if err != nil {
			return err
		}
		for _, entry := range o.List("status", "history") {
			if kube.Object(entry.(map[string]any)).Text("reason") == "promoted" {
				return nil
			}
		}
		return fmt.Errorf("hub-a's HubRole does not tell of its promotion")
	}); err != nil {
		return err
	}
	s.a.Kill()
	if err := s.a.Start(); err != nil {
		return err
	}
	if err := s.state(ctx, s.a, "active"); err != nil {
		return err
	}
	// Also what was before the step in which HubRole, which holds it, was deleted.
	for h, wanted := range map[*pair.Hub][]string{
		s.a: {"starts_leading", "drains", "switchover_called_off", "released", "forced", "promoted", "resumes"},
		s.b: {"barrier", "handed", "promoted", "yielded"},
	} {
		var got []string
		if err := see.Eventually(ctx, patience, func() (err error) {
			got, err = reasons(h)
			for _, reason := range wanted {
				if err == nil && !slices.Contains(got, reason) {
					err = fmt.Errorf("%s's history lacks %q: %v", h.Name, reason, got)
				}
			}
			return err
		}); err != nil {
			return err
		}
		s.fact(h.Name, "history tells %d transitions, among them %s", len(got), strings.Join(wanted, ", "))
	}
	return nil
}

// rateHolds sees that commands are not carried out without end.
func (s *story) rateHolds(ctx context.Context) error {
	for range 6 {
		if _, _, err := s.b.Ctl(ctx, 0, "pause", "--for", "1m"); err != nil {
			return err
		}
	}
	if _, err := s.ctl(ctx, s.b, 1, "five commands a minute", "pause", "--for", "1m"); err != nil {
		return err
	}
	s.fact("hub-b", "the sixth command of a minute is refused")
	return nil
}
