package workers

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

const system = "kubeslice-system"

// software is what the worker's own software does with the hand-over: it reads the directory and asks
// the hub for its Cluster, again and again. A second without it is a lost one.
type software struct {
	sync.Mutex
	worker *pair.Worker
	good   int
	wrong  []string
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

func (r *run) startSoftware(ctx context.Context, w *pair.Worker) *software {
	s := &software{worker: w}
	ctx, s.stop = context.WithCancel(ctx)
	s.ended.Go(func() {
		for ctx.Err() == nil {
			client, err := kube.New(w.Handed("endpoint"), []byte(w.Handed("ca.crt")), kube.User{Token: w.Handed("token")})
			if err == nil {
				_, err = client.Get(ctx, kube.Clusters.Path(w.Handed("namespace"), w.Name))
				client.Close()
			}
			s.Lock()
			if err == nil {
				s.good++
			} else if ctx.Err() == nil {
				s.wrong = append(s.wrong, err.Error())
			}
			s.Unlock()
			kube.Pause(ctx, 50*time.Millisecond)
		}
	})
	return s
}

// end is nil when every request was answered.
func (s *software) end() error {
	s.stop()
	s.ended.Wait()
	if len(s.wrong) > 0 {
		return fmt.Errorf("%d of %d requests failed: %s", len(s.wrong), s.good+len(s.wrong), s.wrong[0])
	}
	if s.good == 0 {
		return errors.New("it asked nothing")
	}
	return nil
}

// late is nil when nothing but silence is why looks of the follower at a hub failed, by its log behind a
// mark: on a busy machine the hub may take longer for an answer than a look does.
func late(w *pair.Worker, h *pair.Hub, mark int) error {
	text, _ := os.ReadFile(w.Log())
	why := "nobody knows why"
	for line := range strings.Lines(string(text[min(mark, len(text)):])) {
		if _, class, found := strings.Cut(line, h.Name+" cannot be read: "); !found {
			continue
		} else if !strings.HasPrefix(class, "silent") {
			return errors.New(strings.TrimSpace(line))
		}
		why = ""
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

// missed is how many looks of the follower at a hub failed, by its own count; one that never failed
// has none.
func missed(w *pair.Worker, hub string) (string, error) {
	text := metrics(w)
	if !strings.Contains(text, "# TYPE kubeslice_worker_hub_") {
		return "", errors.New("its metrics cannot be read")
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "kubeslice_worker_hub_probe_errors_total{hub=\""+hub+"\"}") {
			b.WriteString(line)
		}
	}
	return b.String(), nil
}

// metrics are read where the worker's monitor listens, in its network namespace.
func metrics(w *pair.Worker) string {
	out, err := w.Enter("curl", "-s", "--max-time", "60", w.HTTP()+"/metrics")
	if err != nil {
		return ""
	}
	return out
}

// deliver writes keys of the Secret that a hub delivers into, as somebody could who may.
func deliver(ctx context.Context, w *pair.Worker, h *pair.Hub, set map[string][]byte) error {
	data := map[string]any{}
	for key, value := range set {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	_, err := w.Admin.Merge(ctx, kube.Secrets.Path(system, "understudy-hub-"+h.Name), kube.Object{"data": data})
	return err
}

func delivered(ctx context.Context, w *pair.Worker, h *pair.Hub, key string) ([]byte, error) {
	o, err := w.Admin.Get(ctx, kube.Secrets.Path(system, "understudy-hub-"+h.Name))
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(o.Text("data", key))
}

// atOnce are people's hands on one worker, and strange credentials on another.
func (r *run) atOnce(ctx context.Context) error {
	// hub-a's token comes from a file on the workers, which counts before what is delivered.
	leads, _, err := r.leader(ctx)
	if err == nil && leads == r.a {
		err = r.stale(ctx)
	}
	if err != nil {
		return err
	}
	return both(func() error { return r.hands(ctx) }, func() error { return r.credentials(ctx) })
}

// credentials delivers what must not be used beside what works, and rotates a token.
func (r *run) credentials(ctx context.Context) error {
	leads, other, err := r.leader(ctx)
	if err != nil {
		return err
	}
	w := r.workers[0]
	if err := see.Eventually(ctx, patience, func() error { return errors.Join(r.proven(ctx, w), follows(ctx, w, leads)) }); err != nil {
		return err
	}
	// The other one is only looked at: the token in its file goes with the one that is rotated away, and
	// what was delivered follows the first refusal.
	followed := map[*pair.Hub]string{r.a: "primary", r.b: "secondary"}[leads]
	before, err := missed(w, followed)
	if err != nil {
		return err
	}
	log, _ := os.ReadFile(w.Log())
	s := r.startSoftware(ctx, w)
	err = r.strangeTokens(ctx, w, leads, other)
	if err == nil {
		err = r.rotate(ctx, w, leads)
	}
	r.check("nothing that was delivered cost a request of the worker's software (H12)", s.end())
	if err != nil {
		return err
	}
	after, err := missed(w, followed)
	if err == nil && after != before {
		if why := late(w, leads, len(log)); why != nil {
			err = fmt.Errorf("before %q, after %q: %w", before, after, why)
		}
	}
	r.check("nor a look of its follower", err)
	return nil
}

// renewal is B9 on a hub that a worker follows.
func (r *run) renewal(ctx context.Context) error {
	leads, other, err := r.leader(ctx)
	if err != nil {
		return err
	}
	w := r.workers[2]
	if err := see.Eventually(ctx, patience, func() error { return errors.Join(r.proven(ctx, w), follows(ctx, w, leads)) }); err != nil {
		return err
	}
	return r.renew(ctx, w, leads, other)
}

func (r *run) strangeTokens(ctx context.Context, w *pair.Worker, h, other *pair.Hub) error {
	good, err := delivered(ctx, w, h, "token")
	if err != nil || len(good) == 0 {
		return fmt.Errorf("the delivered token: %q, %w", good, err)
	}
	ca, err := delivered(ctx, w, h, "ca.crt")
	if err != nil {
		return err
	}
	foreign, err := delivered(ctx, w, other, "token")
	if err != nil {
		return err
	}
	otherCA, err := os.ReadFile(other.Cluster.CAFile())
	if err != nil {
		return err
	}
	powerless, err := h.Admin.Token(ctx, pair.Project, "default", time.Hour)
	if err != nil {
		return err
	}
	short, err := h.Admin.Token(ctx, pair.Project, w.Account(), 11*time.Minute)
	if err != nil {
		return err
	}
	old, err := h.Cluster.Aged(short, 20*time.Hour, time.Hour)
	if err != nil {
		return err
	}
	state := func(name string, set map[string][]byte, want string) error {
		if err := deliver(ctx, w, h, set); err != nil {
			return err
		}
		r.check("delivered "+name+": "+want, see.Eventually(ctx, patience, func() error { return has(ctx, w, "CredentialReady-"+h.Name, want) }))
		return nil
	}
	token := func(text string) map[string][]byte { return map[string][]byte{"token": []byte(text)} }
	for _, row := range []struct {
		name string
		set  map[string][]byte
		want string
	}{
		{"the other hub's token", token(string(foreign)), "True DeliveredUnauthorized"},
		{"a token without rights", token(powerless), "True DeliveredForbidden"},
		{"no token at all, but words", token("no token, but words"), "True DeliveredUnusable"},
		{"a token for another endpoint", map[string][]byte{"token": []byte(short), "endpoint": []byte(other.Cluster.URL())}, "True DeliveredUnusable"},
		{"a young one, however short its life", map[string][]byte{"token": []byte(short), "endpoint": []byte(h.Cluster.URL() + "/")}, "True Proved"},
		{"one in the last tenth of its life", token(old), "True ExpiresSoon"},
		{"the good one again", token(string(good)), "True Proved"},
		{"a CA that does not vouch for the hub", map[string][]byte{"ca.crt": otherCA}, "True DeliveredCertVerificationFailed"},
		{"the CA again", map[string][]byte{"ca.crt": ca}, "True Proved"},
	} {
		if err := state(row.name, row.set, row.want); err != nil {
			return err
		}
	}
	if err := deliver(ctx, w, h, token("")); err != nil {
		return err
	}
	r.check("an empty token for two seconds: what works stays (D13)", holds(ctx, w, 2*time.Second, "CredentialReady-"+h.Name, "True Proved"))
	return deliver(ctx, w, h, token(string(good)))
}

// mayRead lets a hub's publisher read one more Secret by its name.
func mayRead(ctx context.Context, h *pair.Hub, name string) error {
	path := kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "clusterroles"}.Path("", "understudy-publisher")
	o, err := h.Admin.Get(ctx, path)
	if err != nil {
		return err
	}
	found := false
	for _, rule := range o.List("rules") {
		rule := rule.(map[string]any)
		if resources := kube.Object(rule).List("resources"); len(resources) == 1 && resources[0] == "secrets" {
			rule["resourceNames"], found = append(kube.Object(rule).List("resourceNames"), name), true
		}
	}
	if !found {
		return errors.New("the publisher reads no Secrets by name")
	}
	_, err = h.Admin.Update(ctx, path, o)
	return err
}

// rotate gives the worker's account a second token, points the Cluster at it, and takes the first one
// away once the second is in use: at each moment one of them works.
func (r *run) rotate(ctx context.Context, w *pair.Worker, h *pair.Hub) error {
	next := w.Account() + "-next"
	for _, hub := range r.pair.Hubs {
		if err := mayRead(ctx, hub, next); err != nil {
			return err
		}
	}
	if _, err := h.Admin.Create(ctx, kube.Secrets.Path(pair.Project, ""), kube.Object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
		"metadata": map[string]any{"name": next, "annotations": map[string]any{"kubernetes.io/service-account.name": w.Account()}},
	}); err != nil {
		return err
	}
	var token []byte
	if err := see.Eventually(ctx, patience, func() error {
		o, err := h.Admin.Get(ctx, kube.Secrets.Path(pair.Project, next))
		if err == nil {
			token, err = base64.StdEncoding.DecodeString(o.Text("data", "token"))
		}
		if err == nil && len(token) == 0 {
			err = errors.New("the second token is not filled")
		}
		return err
	}); err != nil {
		return err
	}
	begin := time.Now()
	if _, err := h.Admin.Merge(ctx, kube.Clusters.Path(pair.Project, w.Name, "status"),
		kube.Object{"status": map[string]any{"secretName": next}}); err != nil {
		return err
	}
	r.check("a rotated token is delivered, tried and handed over (H12, B10)", see.Eventually(ctx, patience, func() error {
		if !bytes.Equal(token, []byte(w.Handed("token"))) {
			return errors.New("the hand-over has another token")
		}
		return has(ctx, w, "CredentialReady-"+h.Name, "True Proved")
	}))
	r.tell("handed over %.1f s after the Cluster named it", time.Since(begin).Seconds())
	if err := h.Admin.Delete(ctx, kube.Secrets.Path(pair.Project, w.Account())); err != nil {
		return err
	}
	r.check("and the old one is withdrawn without a gap", errors.Join(stays(ctx, 3*time.Second, func() error { return keeps(ctx, w, h) }),
		see.Eventually(ctx, patience, func() error { return follows(ctx, w, h) })))
	return nil
}

// renew is B9 on the hub that leads: its CA is replaced with the old and the new one together ahead of
// the change, and then once more without a word.
func (r *run) renew(ctx context.Context, w *pair.Worker, h, other *pair.Hub) error {
	next, err := h.Cluster.Renew()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(h.Cluster.CAFile())
	if err != nil {
		return err
	}
	// The operator adds the new CA to the hub's file; the workers' files stay.
	if err := os.WriteFile(h.Cluster.CAFile(), append(bytes.Clone(old), next.CA...), 0o600); err != nil {
		return err
	}
	defer os.WriteFile(h.Cluster.CAFile(), old, 0o600)
	if err := h.Configure(ctx); err != nil {
		return err
	}
	h.Restart()
	s := r.startSoftware(ctx, w)
	r.check("old and new CA together reach the worker and are handed over, its own file untouched (B9)", see.Eventually(ctx, patience, func() error {
		if !strings.Contains(w.Handed("ca.crt"), strings.TrimSpace(string(next.CA))) {
			return errors.New("the hand-over does not have the new CA")
		}
		return follows(ctx, w, h)
	}))
	back, err := h.Cluster.Serve(next)
	if err != nil {
		return err
	}
	r.check("the hub presents the new certificate: the worker stays connected over new connections (B9)", errors.Join(
		presents(ctx, h, next.CA), w.Cluster.Disconnect(h.Cluster),
		// A look of a second may be late on a busy machine; what must not be is one that does not verify.
		stays(ctx, 4*time.Second, func() error {
			return errors.Join(hasNot(ctx, w, "ControllerConnected", "False CertVerificationFailed"),
				hasNot(ctx, w, "CredentialReady-"+h.Name, "False CertVerificationFailed"))
		}),
		see.Eventually(ctx, patience, func() error { return errors.Join(follows(ctx, w, h), r.proven(ctx, w)) })))
	r.check("the worker's software lost nothing by it", s.end())

	// Without overlap: nobody told the worker.
	sudden, err := h.Cluster.Renew()
	if err != nil {
		return err
	}
	if _, err := h.Cluster.Serve(sudden); err != nil {
		return err
	}
	if err := presents(ctx, h, sudden.CA); err != nil {
		return err
	}
	if err := w.Cluster.Disconnect(h.Cluster); err != nil {
		return err
	}
	r.check("a new CA without a word: CertVerificationFailed, and the other hub is still good (B9, W27)", see.Eventually(ctx, patience, func() error {
		return errors.Join(has(ctx, w, "ControllerConnected", "False CertVerificationFailed"),
			has(ctx, w, "CredentialReady-"+h.Name, "False CertVerificationFailed"),
			has(ctx, w, "CredentialReady-"+other.Name, "True Proved"))
	}))
	if err := deliver(ctx, w, h, map[string][]byte{"ca.crt": sudden.CA}); err != nil {
		return err
	}
	r.check("and a delivered CA is not believed while nobody trusted vouches for it (H19)",
		holds(ctx, w, 4*time.Second, "CredentialReady-"+h.Name, "False CertVerificationFailed"))
	if _, err := h.Cluster.Serve(back); err != nil {
		return err
	}
	r.check("mended: the worker is connected again by itself (W27)", r.allFollow(ctx, []*pair.Worker{w}, h))
	return nil
}

// presents waits until new connections to a hub are signed by a CA.
func presents(ctx context.Context, h *pair.Hub, ca []byte) error {
	return see.Eventually(ctx, patience, func() error {
		client, err := kube.New(h.Cluster.URL(), ca, kube.User{Token: "x"})
		if err != nil {
			return err
		}
		defer client.Close()
		_, err = client.Do(ctx, http.MethodGet, "/version", "", nil)
		if kube.IsCode(err, 401) || kube.IsCode(err, 403) {
			return nil
		}
		return err
	})
}
