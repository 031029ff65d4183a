package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// auditOf is understudyctl audit -o json of a hub, and its exit code.
func auditOf(ctx context.Context, h *pair.Hub, more ...string) (kube.Object, int, error) {
	out, code, err := h.Ctl(ctx, 0, append([]string{"audit", "-o", "json"}, more...)...)
	if err != nil {
		return nil, code, err
	}
	var o kube.Object
	end := strings.LastIndexByte(out, '}') + 1 // what follows is a word on standard error
	if err := json.Unmarshal([]byte(out[:end]), &o); err != nil {
		return nil, code, fmt.Errorf("audit: exit code %d, %w: %s", code, err, out)
	}
	return o, code, nil
}

// rowsWith are the rows with a verdict, as "kind subject: what".
func rowsWith(o kube.Object, verdict string) []string {
	var rows []string
	for _, r := range o.List("rows") {
		if row := kube.Object(r.(map[string]any)); row.Text("verdict") == verdict {
			rows = append(rows, fmt.Sprintf("%s %s: %s", row.Text("kind"), row.Text("subject"), row.Text("what")))
		}
	}
	return rows
}

// auditClean waits until a hub's audit has nothing to say.
func (s *story) auditClean(ctx context.Context, h *pair.Hub) error {
	var o kube.Object
	var code int
	var failed error
	if _, err := until(ctx, patience, 250*time.Millisecond, func() bool {
		o, code, failed = auditOf(ctx, h)
		return failed == nil && code == 0
	}); err != nil {
		return fmt.Errorf("%s: audit is not clean, exit code %d: findings %q, unverified %q: %w", h.Name, code,
			rowsWith(o, "finding"), rowsWith(o, "unverified"), errors.Join(err, failed))
	}
	// A worker has four processes and three identities.
	if n := len(o.List("rows")); n < 100 || o.Text("result") != "clean" || o.Int("counts", "ok") < 100 {
		return fmt.Errorf("%s: audit has %d rows, result %s, %d in order", h.Name, n, o.Text("result"), o.Int("counts", "ok"))
	}
	s.fact(h.Name, "audit: %d rows, %d ok, 0 findings, 0 unverified", len(o.List("rows")), o.Int("counts", "ok"))
	return nil
}

// auditDeep has canaries try what the row of each role of a hub refuses; each of its processes has
// such rows, and each of them has calls that killed, were refused, and worked.
func (s *story) auditDeep(ctx context.Context, h *pair.Hub) error {
	var o kube.Object
	var code int
	var failed error
	if _, err := until(ctx, 4*patience, 250*time.Millisecond, func() bool {
		o, code, failed = auditOf(ctx, h, "--deep")
		return failed == nil && code == 0
	}); err != nil {
		return fmt.Errorf("%s: audit --deep is not clean, exit code %d: findings %q, unverified %q: %w", h.Name, code,
			rowsWith(o, "finding"), rowsWith(o, "unverified"), errors.Join(err, failed))
	}
	if deep, _ := o["deep"].(bool); !deep {
		return fmt.Errorf("%s: audit --deep does not say that it is one", h.Name)
	}
	met := map[string]int{} // role and the first word of what its canaries met
	count := 0
	for _, r := range o.List("rows") {
		if row := kube.Object(r.(map[string]any)); row.Text("kind") == "probe" && row.Text("probed") != "" {
			word, _, _ := strings.Cut(row.Text("probed"), " ")
			met[row.Text("subject")+" "+word]++
			count++
		}
	}
	dialers := []string{"observer", "elector", "syncer", "publisher", "repointer"} // in the order of their uids
	for _, role := range h.Roles() {
		if role.Name == "dialer" {
			role.Name = dialers[role.UID-h.UIDBase()-10] + "-dialer"
		}
		for _, word := range []string{"works", "refused", "killed"} {
			if met[role.Name+" "+word] == 0 {
				return fmt.Errorf("%s: no probe of %s %s: %v", h.Name, role.Name, word, met)
			}
		}
	}
	s.fact(h.Name, "audit --deep: %d probes by canaries in the rows of %d processes, each as declared", count, len(h.Roles()))
	return nil
}

// flaw is something wrong on purpose, and the row that must say so.
type flaw struct {
	row        string // kind, subject, and the beginning of what
	make, undo func() error
}

// takenAway deletes an object and makes it again.
func takenAway(ctx context.Context, client *kube.Client, path string) (take, back func() error) {
	var was kube.Object
	take = func() (err error) {
		if was, err = client.Get(ctx, path); err != nil {
			return err
		}
		return client.Delete(ctx, path)
	}
	back = func() error {
		was["metadata"] = map[string]any{"name": was.Name(), "namespace": was.Namespace()}
		_, err := client.Create(ctx, path[:strings.LastIndexByte(path, '/')], was)
		return err
	}
	return take, back
}

func mode(path string, wrong, right os.FileMode) (take, back func() error) {
	return func() error { return os.Chmod(path, wrong) }, func() error { return os.Chmod(path, right) }
}

// flaws of hub-b, a Standby, that harm nothing else in their minute.
func (s *story) flaws(ctx context.Context) []flaw {
	const (
		bindings = "/apis/rbac.authorization.k8s.io/v1/"
		policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/"
	)
	var flaws []flaw
	add := func(row string, take, back func() error) { flaws = append(flaws, flaw{row, take, back}) }
	paired := func(row string, pair func() (take, back func() error)) {
		take, back := pair()
		add(row, take, back)
	}
	credential := filepath.Join(filepath.Dir(s.b.Config()), "publisher.kubeconfig")
	paired("credential publisher: "+credential, func() (take, back func() error) { return mode(credential, 0o404, 0o400) })
	paired("file socket: "+s.b.AdminSocket(), func() (take, back func() error) { return mode(s.b.AdminSocket(), 0o666, 0o660) })
	paired("file run.directory: ", func() (take, back func() error) { return mode(s.b.RunDirectory(), 0o777, 0o755) })

	stranger := exec.Command("/bin/sleep", "infinity")
	uid := uint32(s.b.UIDBase() + 4)
	stranger.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	add("process uid range: pid ", stranger.Start, func() error {
		stranger.Process.Kill()
		stranger.Wait()
		return nil
	})

	more := kube.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "understudy-audit-test"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kube-dns"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "understudy-peer-observer", "namespace": pair.Namespace}}}
	add("right peer-observer: rights ", // everywhere, and so at home
		func() error { _, err := s.a.Admin.Create(ctx, bindings+"clusterrolebindings", more); return err },
		func() error { return s.a.Admin.Delete(ctx, bindings+"clusterrolebindings/understudy-audit-test") })
	paired("right worker worker-1: rights in its own namespace", func() (take, back func() error) {
		return takenAway(ctx, s.worker, bindings+"namespaces/kubeslice-system/rolebindings/understudy-hub-b")
	})
	paired("door worker worker-1: a claim in another's name", func() (take, back func() error) {
		return takenAway(ctx, s.worker, policies+"understudy-worker")
	})
	paired("fence elector: the API server enforces the role", func() (take, back func() error) {
		return takenAway(ctx, s.b.Admin, policies+"understudy-role-in-namespaces")
	})
	return flaws
}

// askAnew ends the processes of a hub that try things at other API servers: their successors try at
// once.
func (s *story) askAnew(ctx context.Context, h *pair.Hub) error {
	for _, name := range []string{"observer", "repointer"} {
		pid, err := s.aPid(ctx, h, name)
		if err != nil {
			return err
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return nil
}

// untilAudit has a hub's processes try everything anew until its audit is as it should be: an API server
// needs a moment to forget a policy or a right, a busy one longer than they take.
func (s *story) untilAudit(ctx context.Context, h *pair.Hub, is func(o kube.Object, code int) bool) (err error) {
	const tries = 4
	for range tries {
		kube.Pause(ctx, time.Second)
		if err := s.askAnew(ctx, h); err != nil {
			return err
		}
		if _, err = until(ctx, patience, 250*time.Millisecond, func() bool {
			o, code, err := auditOf(ctx, h)
			return err == nil && is(o, code)
		}); err == nil {
			return nil
		}
	}
	return err
}

// nobodys are the findings that no flaw accounts for.
func nobodys(flaws []flaw, findings []string) []string {
	return slices.DeleteFunc(slices.Clone(findings), func(found string) bool { return len(missed(flaws, []string{found})) < len(flaws) })
}

// missed are the flaws without a finding.
func missed(flaws []flaw, findings []string) []string {
	var rows []string
next:
	for _, f := range flaws {
		for _, found := range findings {
			if strings.HasPrefix(found, f.row) {
				continue next
			}
		}
		rows = append(rows, f.row)
	}
	return rows
}

// audited: clean on both hubs; then each thing that is made wrong is found, and nothing else; no more
// when all is as it was.
func (s *story) audited(ctx context.Context) (err error) {
	for _, h := range s.pair.Hubs {
		if err := s.auditClean(ctx, h); err != nil {
			return err
		}
		if err := s.auditDeep(ctx, h); err != nil {
			return err
		}
	}
	for _, words := range [][]string{{"audit"}, {"audit", "--deep"}} {
		if out, code, err := s.b.Ctl(ctx, 12345, words...); err != nil || code != 2 || !strings.Contains(out, "permission denied") {
			return fmt.Errorf("%q by a user without rights: exit code %d, %w: %s", words, code, err, out)
		}
	}
	flaws := s.flaws(ctx)
	for _, f := range flaws {
		if err := f.make(); err != nil {
			return fmt.Errorf("%s: %w", f.row, err)
		}
	}
	var findings, absent, more []string
	code := 0
	if err := s.untilAudit(ctx, s.b, func(o kube.Object, got int) bool {
		findings, code = rowsWith(o, "finding"), got
		absent, more = missed(flaws, findings), nobodys(flaws, findings)
		return len(absent)+len(more) == 0 && code == 1
	}); err != nil {
		return fmt.Errorf("audit does not find %q, and finds %q that nobody did; it ends with %d: %w", absent, more, code, err)
	}
	s.fact(s.b.Name, "audit: %d things made wrong, each is a finding, and nothing else is", len(flaws))
	for _, f := range flaws {
		if err := f.undo(); err != nil {
			return fmt.Errorf("undo %s: %w", f.row, err)
		}
	}
	// Whether the own API server obeys is asked every 30 s; that it is seen was seen.
	if err := s.untilAudit(ctx, s.b, func(o kube.Object, _ int) bool {
		findings = slices.DeleteFunc(rowsWith(o, "finding"), func(row string) bool { return strings.HasPrefix(row, "fence ") })
		return len(findings)+len(rowsWith(o, "unverified")) == 0
	}); err != nil {
		return fmt.Errorf("audit still finds %q: %w", findings, err)
	}
	s.fact(s.b.Name, "audit: nothing any more once all is as it was")
	return nil
}

// socketsRemoved takes the leader's sockets away: each comes back by itself, the lead stays where it is.
func (s *story) socketsRemoved(ctx context.Context) error {
	term, _ := leading(s.a)
	for _, name := range []string{"status", "admin", "audit", "canary"} {
		if err := os.Remove(filepath.Join(s.a.RunDirectory(), name+".sock")); err != nil {
			return err
		}
	}
	for _, words := range [][]string{{"status"}, {"switchover", "--check"}, {"audit"}, {"audit", "--deep"}} {
		var out string
		if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
			said, code, err := s.a.Ctl(ctx, 0, words...)
			out = said
			return err == nil && code == 0
		}); err != nil {
			return fmt.Errorf("%q after its socket was removed: %w: %s", words, err, out)
		}
	}
	if now, leads := leading(s.a); !leads || now != term {
		return fmt.Errorf("hub-a leads no more, or with term %d instead of %d", now, term)
	}
	s.fact("hub-a", "its four sockets, removed while it leads, are there again")
	return nil
}
