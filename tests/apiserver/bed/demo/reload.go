package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/fence"
)

// rotated are the steps about credentials and a configuration that change under a running pair.
var rotated = []step{
	{"worker-1 follows hub-a", (*story).join},
	{"a credential is rotated", (*story).rotate},
	{"a server that stops taking a credential", (*story).disown},
	{"a rotation that is none", (*story).rotateBadly},
	{"a credential that the server refuses", (*story).refusedCredential},
	{"a follower's token is rotated", (*story).rotateFollower},
	{"the CA of a hub is about to change", (*story).rotateCA},
	{"a configuration that cannot be reloaded", (*story).reloadBadly},
	{"a credential for another address", (*story).reloadAddress},
	{"workers come and go", (*story).reloadWorkers},
}

// replace puts a file in another's place as a whole, for root alone.
func replace(path string, text []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, text, 0o400); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// fresh is a kubeconfig with a new token of an account, and that token.
func fresh(ctx context.Context, at *cluster.Cluster, namespace, account string, life time.Duration) ([]byte, string, error) {
	client, err := at.Client()
	if err != nil {
		return nil, "", err
	}
	defer client.Close()
	token, err := client.Token(ctx, namespace, account, life)
	if err != nil {
		return nil, "", err
	}
	return kube.Kubeconfig(client.Server, client.CA, kube.User{Token: token}), token, nil
}

// expiry is what a token says of its end.
func expiry(token string) (int64, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0, fmt.Errorf("no JWT")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return 0, err
	}
	var claims struct {
		Exp int64 `json:"exp"`
	}
	return claims.Exp, json.Unmarshal(text, &claims)
}

func metrics(h *pair.Hub) (string, error) {
	reply, err := http.Get(h.HTTP() + "/metrics")
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return string(text), err
}

// undisturbed are the pids that a rotation or a reload must leave alone.
func (s *story) undisturbed(h *pair.Hub) string {
	return fmt.Sprint(h.Daemon().Pid(), s.pid(h, "elector"), s.pid(h, "observer"), s.pid(h, "monitor"), h.Workload())
}

// steady watches hub-a's page until it is told to end; then it is nil when the page never was closed.
func (s *story) steady() (end func() error) {
	stop, done, mark := make(chan struct{}), make(chan struct{}), logSize(s.a.Log())
	closed, begin := 0, time.Now()
	var first, last time.Duration
	var none error
	go func() {
		defer close(done)
		page, err := fence.Open(s.a.FencePage()) // which is never replaced
		if none = err; err != nil {
			return
		}
		defer page.Close()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, leads := page.Term(); !leads {
				if last = time.Since(begin); closed == 0 {
					first = last
				}
				closed++
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return func() error {
		close(stop)
		<-done
		if closed == 0 {
			return none
		}
		return fmt.Errorf("hub-a's page was seen closed %d times, from %v to %v of %v; meanwhile it said:\n%s", closed,
			first, last, time.Since(begin), grepLines(logSince(s.a.Log(), mark), "elector"))
	}
}

// rotate replaces each credential of hub-a while it leads.
func (s *story) rotate(ctx context.Context) error {
	before, closed := s.undisturbed(s.a), s.steady()
	dir := filepath.Dir(s.a.Config())
	begin := time.Now()
	var token string
	rotations := []struct {
		file, role, namespace, account string
		at                             *cluster.Cluster
	}{
		{"elector", "elector: elector uses generation 2", pair.Namespace, "understudy-elector", s.a.Cluster},
		{"publisher", "publisher: publisher uses generation 2", pair.Namespace, "understudy-publisher", s.a.Cluster},
		{"peer-observer", "peer-observer: observer uses generation 2", pair.Namespace, "understudy-peer-observer", s.b.Cluster},
		{"worker-1", "worker worker-1: repointer/0 uses generation 2", "kubeslice-system", "understudy-hub-a", s.pair.Work},
	}
	for _, c := range rotations {
		text, got, err := fresh(ctx, c.at, c.namespace, c.account, 20*time.Minute)
		if err != nil {
			return err
		}
		if c.file == "elector" {
			token = got
		}
		if err := replace(filepath.Join(dir, c.file+".kubeconfig"), text); err != nil {
			return err
		}
	}
	for _, c := range rotations {
		if _, err := logged(ctx, s.a.Log(), "credential "+c.role, patience); err != nil {
			return fmt.Errorf("%s is taken by its role: %w", c.file, err)
		}
	}
	s.fact("hub-a", "4 credentials rotated in their files are in use, %.1f s", time.Since(begin).Seconds())
	end, err := expiry(token)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("understudy_credential_expiry_timestamp_seconds{credential=\"elector\",worker=\"\"} %d\n", end)
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		text, err := metrics(s.a)
		return err == nil && strings.Contains(text, line)
	}); err != nil {
		text, _ := metrics(s.a)
		return fmt.Errorf("the metrics say %s: %w; they say: %.600s", line, err, grepLines(text, "understudy_credential"))
	}
	s.fact("hub-a", "its metrics say when the elector's new token expires")
	// The old connections are there still, the new token is used: leadership goes on.
	kube.Pause(ctx, 3*time.Second)
	if err := closed(); err != nil {
		return fmt.Errorf("during the rotation %w", err)
	}
	if after := s.undisturbed(s.a); after != before {
		return fmt.Errorf("processes of hub-a were started anew: %s, before %s", after, before)
	}
	s.fact("hub-a", "no process was started anew, its page was never closed")
	return nil
}

func grepLines(text, word string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

// rotateBadly puts into hub-a's files what must not be taken, each for longer than a look.
func (s *story) rotateBadly(ctx context.Context) error {
	before, closed := s.undisturbed(s.a), s.steady()
	dir := filepath.Dir(s.a.Config())
	path := filepath.Join(dir, "elector.kubeconfig")
	good, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	foreign, _, err := fresh(ctx, s.a.Cluster, pair.Namespace, "understudy-syncer", time.Hour)
	if err != nil {
		return err
	}
	for _, bad := range []struct {
		name, word string
		text       []byte
	}{
		{"an empty file", "is empty; expected its content", nil},
		{"half of the file", "elector.kubeconfig", good[:len(good)/2]},
		{"another subject", "understudy-syncer\\\", expected", foreign},
		{"another server", "now names", []byte(strings.Replace(string(good), "server: https://127.0.0.1", "server: https://evil.example.com", 1))},
		{"a file that others may write", "writable by root alone", good},
	} {
		mark := logSize(s.a.Log())
		if err := replace(path, bad.text); err != nil {
			return err
		}
		if strings.Contains(bad.name, "others") {
			if err := os.Chmod(path, 0o622); err != nil {
				return err
			}
		}
		for _, word := range []string{bad.word, "credential elector: generation 2 stays in use"} {
			if _, err := until(ctx, patience, 20*time.Millisecond, func() bool {
				return strings.Contains(logSince(s.a.Log(), mark), word)
			}); err != nil {
				return fmt.Errorf("%s: %q in the log: %w; it says: %s", bad.name, word, err, logSince(s.a.Log(), mark))
			}
		}
		s.fact("hub-a", "%s in the place of the elector's credential: the last good one stays", bad.name)
	}
	if err := replace(path, good); err != nil {
		return err
	}
	text, _, err := fresh(ctx, s.a.Cluster, pair.Namespace, "understudy-elector", time.Hour)
	if err != nil {
		return err
	}
	kube.Pause(ctx, 2500*time.Millisecond) // what is in use already is no new generation
	if err := replace(path, text); err != nil {
		return err
	}
	if _, err := logged(ctx, s.a.Log(), "credential elector: elector uses generation 3", patience); err != nil {
		return fmt.Errorf("after all that a good one: %w", err)
	}
	if err := closed(); err != nil {
		return err
	}
	if after := s.undisturbed(s.a); after != before {
		return fmt.Errorf("processes of hub-a were started anew: %s, before %s", after, before)
	}
	s.fact("hub-a", "then a good one is taken; nobody was started anew, the page was never closed")
	return nil
}

func logSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func logSince(path string, mark int64) string {
	text, _ := os.ReadFile(path)
	if int64(len(text)) < mark {
		return ""
	}
	return string(text[mark:])
}

// disown makes the API server refuse the token of hub-a's publisher, once it has forgotten that it
// knew it, which takes it ten seconds.
func (s *story) disown(ctx context.Context) error {
	account := kube.ServiceAccounts.Path(pair.Namespace, "understudy-publisher")
	if err := s.a.Admin.Delete(ctx, account); err != nil {
		return err
	}
	_, err := s.a.Admin.Create(ctx, kube.ServiceAccounts.Path(pair.Namespace, ""), kube.Object{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "understudy-publisher"},
	})
	return err
}

// refusedCredential sees that a 401, not the end of a role, has the files read again.
func (s *story) refusedCredential(ctx context.Context) error {
	// A Cluster whose claim was taken away, so that it has something to ask for.
	path := kube.Clusters.Path(pair.Project, "worker-1")
	disclaim := func() error {
		_, err := s.a.Admin.Merge(ctx, path+"/status", kube.Object{"status": map[string]any{"activeController": nil}})
		return err
	}
	// Until the server has forgotten that it knew the token, the publisher's answer to this is taken.
	var problem error
	if _, err := until(ctx, 2*patience, 2*time.Second, func() bool {
		log, _ := os.ReadFile(s.a.Log())
		if strings.Contains(string(log), "credential publisher: the server does not take it (401)") {
			return true
		}
		problem = disclaim()
		return problem != nil
	}); err != nil || problem != nil {
		return fmt.Errorf("hub-a notices the 401 of its publisher: %w, %w", err, problem)
	}
	text, _, err := fresh(ctx, s.a.Cluster, pair.Namespace, "understudy-publisher", time.Hour)
	if err != nil {
		return err
	}
	pid := s.pid(s.a, "publisher")
	if err := replace(filepath.Join(filepath.Dir(s.a.Config()), "publisher.kubeconfig"), text); err != nil {
		return err
	}
	if _, err := logged(ctx, s.a.Log(), "credential publisher: publisher uses generation 3", patience); err != nil {
		return fmt.Errorf("the publisher gets its new token: %w", err)
	}
	if err := disclaim(); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := s.a.Admin.Get(ctx, path)
		return err == nil && o.Text("status", "activeController", "activeIdentity") == "hub-a"
	}); err != nil {
		return fmt.Errorf("the publisher works with its new token: %w", err)
	}
	if s.pid(s.a, "publisher") != pid {
		return fmt.Errorf("the publisher was started anew")
	}
	s.fact("hub-a", "its publisher's token was refused (401); a new one is used without a restart")
	return nil
}

// rotateFollower swaps the follower's token for hub-a the way the kubelet swaps a mounted Secret.
func (s *story) rotateFollower(ctx context.Context) error {
	w := s.pair.Worker
	dir := filepath.Dir(w.Config())
	path := filepath.Join(dir, "hub-a.token")
	workload := w.Workload()
	for n := range 2 {
		_, token, err := fresh(ctx, s.a.Cluster, pair.Project, "kubeslice-rbac-worker-worker-1", 48*time.Hour)
		if err != nil {
			return err
		}
		data := fmt.Sprintf("..generation-%d", n)
		if err := os.Mkdir(filepath.Join(dir, data), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, data, "hub-a.token"), []byte(token), 0o400); err != nil {
			return err
		}
		if err := os.Symlink(data, filepath.Join(dir, "..data_tmp")); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			return err
		}
		if n == 0 { // from a file to a mounted Secret
			if err := os.Symlink("..data/hub-a.token", path+".next"); err != nil {
				return err
			}
			if err := os.Rename(path+".next", path); err != nil {
				return err
			}
		}
		if _, err := until(ctx, patience, 20*time.Millisecond, func() bool { return w.Handed("token") == token }); err != nil {
			return fmt.Errorf("the new token is handed over, swap %d: %w", n+1, err)
		}
		s.fact("worker-1", "its token for hub-a, swapped by ..data, is handed over")
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := s.worker.Get(ctx, pair.Controllers.Path("", "active"))
		return err == nil && condition(o, "CredentialReady-hub-a") == "True Proved" &&
			condition(o, "ControllerConnected") == "True Connected"
	}); err != nil {
		return fmt.Errorf("the new token is proven: %w", err)
	}
	if w.Workload() != workload || workload == 0 {
		return fmt.Errorf("the worker's operator was started anew for a new token of the same hub")
	}
	s.fact("worker-1", "the new token is proven, the operator was not started anew")
	return nil
}

// rotateCA puts a second certificate beside hub-a's CA, as is done ahead of a change, in the worker's
// configuration and in hub-a's own: both go where the old one went, and nobody is cut off.
func (s *story) rotateCA(ctx context.Context) error {
	w := s.pair.Worker
	ca, err := os.ReadFile(s.a.Cluster.CAFile())
	if err != nil {
		return err
	}
	second, err := os.ReadFile(s.b.Cluster.CAFile())
	if err != nil {
		return err
	}
	both := append(append([]byte{}, ca...), second...)
	token, workload := w.Handed("token"), w.Workload()
	if err := replace(filepath.Join(filepath.Dir(w.Config()), "hub-a.crt"), both); err != nil {
		return err
	}
	if err := replace(filepath.Join(filepath.Dir(s.a.Config()), "hub-a.crt"), both); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 20*time.Millisecond, func() bool {
		return strings.Count(w.Handed("ca.crt"), "BEGIN CERTIFICATE") == 2 && w.Handed("token") == token
	}); err != nil {
		return fmt.Errorf("both CAs are handed over: %w", err)
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := s.worker.Get(ctx, pair.Controllers.Path("", "active"))
		bundle, _ := base64.StdEncoding.DecodeString(o.Text("spec", "caBundle"))
		return err == nil && strings.Count(string(bundle), "BEGIN CERTIFICATE") == 2 &&
			condition(o, "CredentialReady-hub-a") == "True Proved" && condition(o, "ControllerConnected") == "True Connected"
	}); err != nil {
		return fmt.Errorf("both CAs are told to worker-1, which stays connected: %w", err)
	}
	if w.Workload() != workload {
		return fmt.Errorf("the worker's operator was started anew for a CA")
	}
	s.fact("worker-1", "a second CA beside hub-a's is handed over and pushed; nothing was cut off")
	return nil
}

// hup asks hub-a to reload and waits for a word in its log.
func (s *story) hup(ctx context.Context, word string) error {
	mark := logSize(s.a.Log())
	if err := syscall.Kill(s.a.Daemon().Pid(), syscall.SIGHUP); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 10*time.Millisecond, func() bool {
		return strings.Contains(logSince(s.a.Log(), mark), word)
	}); err != nil {
		return fmt.Errorf("SIGHUP: %q in the log: %w; it says: %s", word, err, logSince(s.a.Log(), mark))
	}
	return nil
}

func (s *story) reloadBadly(ctx context.Context) error {
	before, closed := s.undisturbed(s.a), s.steady()
	good, err := os.ReadFile(s.a.Config())
	if err != nil {
		return err
	}
	for _, bad := range []struct{ name, from, to, word string }{
		{"a key that does not exist", "allow-missing: []", "allow-mising: []", "understudyctl check-config"},
		{"a file cut in half", string(good[len(good)/2:]), "", "understudyctl check-config"},
		{"another lease duration", "duration: 15s", "duration: 16s", "takes a restart: lease"},
		{"another identity", "uid-base: ", "uid-base: 1", "takes a restart: run"},
	} {
		text := strings.Replace(string(good), bad.from, bad.to, 1)
		if err := replace(s.a.Config(), []byte(text)); err != nil {
			return err
		}
		if err := s.hup(ctx, bad.word); err != nil {
			return fmt.Errorf("%s: %w", bad.name, err)
		}
		s.fact("hub-a", "SIGHUP with %s: refused, the configuration before stays", bad.name)
	}
	if err := replace(s.a.Config(), good); err != nil {
		return err
	}
	if err := s.hup(ctx, "reloaded; changed: nothing"); err != nil {
		return err
	}
	kube.Pause(ctx, 2*time.Second)
	if err := closed(); err != nil {
		return err
	}
	if after := s.undisturbed(s.a); after != before {
		return fmt.Errorf("processes of hub-a were started anew: %s, before %s", after, before)
	}
	return nil
}

// reloadAddress moves hub-a's view of its peer to another name of the same server: refused as a
// rotation, taken by an operator's word; the observer goes on, over a dialer that knows the name.
func (s *story) reloadAddress(ctx context.Context) error {
	before, closed := s.undisturbed(s.a), s.steady()
	path := filepath.Join(filepath.Dir(s.a.Config()), "peer-observer.kubeconfig")
	good, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := replace(path, []byte(strings.Replace(string(good), "https://127.0.0.1:", "https://localhost:", 1))); err != nil {
		return err
	}
	if _, err := logged(ctx, s.a.Log(), "credential peer-observer now names localhost", patience); err != nil {
		return fmt.Errorf("another address is refused: %w", err)
	}
	if _, err := s.ctl(ctx, s.a, 0, "reloaded; changed: nothing", "reload"); err != nil {
		return err
	}
	if _, err := logged(ctx, s.a.Log(), "credential peer-observer: observer uses generation 3", patience); err != nil {
		return fmt.Errorf("another address is taken by a reload: %w", err)
	}
	// A look over a connection to the new name.
	kube.Pause(ctx, 1500*time.Millisecond)
	var class string
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := s.a.Status(ctx)
		class = o.Text("peer", "class")
		return err == nil && class == "ok"
	}); err != nil {
		return fmt.Errorf("hub-a sees its peer as %q over the new name: %w", class, err)
	}
	if err := closed(); err != nil {
		return err
	}
	if after := s.undisturbed(s.a); after != before {
		return fmt.Errorf("processes of hub-a were started anew: %s, before %s", after, before)
	}
	s.fact("hub-a", "its peer's address is another one: refused as a rotation, taken by a reload")
	return nil
}

// workerState is what hub-a's status says of a worker.
func (s *story) workerState(ctx context.Context, name string) string {
	o, err := s.a.Status(ctx)
	if err != nil {
		return err.Error()
	}
	for _, w := range o.List("workers") {
		if m, _ := w.(map[string]any); m["name"] == name {
			return fmt.Sprint(m["state"], " ", m["term"])
		}
	}
	return "absent"
}

// reloadWorkers adds two workers, one of which has a bad credential, and takes them away again.
func (s *story) reloadWorkers(ctx context.Context) error {
	before, closed := s.undisturbed(s.a), s.steady()
	good, err := os.ReadFile(s.a.Config())
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.a.Config())
	text, err := os.ReadFile(filepath.Join(dir, "worker-1.kubeconfig"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "worker-2.kubeconfig"), text, 0o400); err != nil {
		return err
	}
	term, _ := leading(s.a)
	want := fmt.Sprint("ok ", term)
	more := strings.Replace(string(good), "workers:\n", fmt.Sprintf("workers:\n"+
		"- {name: worker-2, project-namespace: %s, kubeconfig: %s/worker-2.kubeconfig}\n"+
		"- {name: worker-3, project-namespace: %s, kubeconfig: %s/worker-3.kubeconfig}\n", pair.Project, dir, pair.Project, dir), 1)
	if err := replace(s.a.Config(), []byte(more)); err != nil {
		return err
	}
	if out, err := s.ctl(ctx, s.a, 0, "workers (2 added, 0 removed, 0 changed)", "reload"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	for _, w := range [][2]string{{"worker-2", want}, {"worker-1", want}, {"worker-3", "unreachable 0"}} {
		if _, err := until(ctx, patience, 50*time.Millisecond, func() bool { return s.workerState(ctx, w[0]) == w[1] }); err != nil {
			return fmt.Errorf("%s is %q, want %q: %w", w[0], s.workerState(ctx, w[0]), w[1], err)
		}
	}
	s.fact("hub-a", "reloaded: worker-2 is served, worker-3 without a credential harms nobody")
	if err := os.WriteFile(filepath.Join(dir, "worker-3.kubeconfig"), text, 0o400); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool { return s.workerState(ctx, "worker-3") == want }); err != nil {
		return fmt.Errorf("worker-3 is %q once its file is there: %w", s.workerState(ctx, "worker-3"), err)
	}
	s.fact("hub-a", "worker-3 is served once its credential's file is there")
	if err := replace(s.a.Config(), good); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.a, 0, "workers (0 added, 2 removed, 0 changed)", "reload"); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		return s.workerState(ctx, "worker-2") == "absent" && s.workerState(ctx, "worker-1") == want
	}); err != nil {
		return fmt.Errorf("worker-2 is %q, worker-1 %q after their removal: %w", s.workerState(ctx, "worker-2"), s.workerState(ctx, "worker-1"), err)
	}
	if err := closed(); err != nil {
		return err
	}
	if after := s.undisturbed(s.a); after != before {
		return fmt.Errorf("elector, observer, monitor or workload was started anew: %s, before %s", after, before)
	}
	if err := s.a.Fault(); err != nil {
		return err
	}
	s.fact("hub-a", "both are gone again; elector, monitor and workload ran on, the page was never closed")
	return nil
}
