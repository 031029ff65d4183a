package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// bootstrapped are the steps about understudyctl bootstrap on a pair that it has made and that runs.
var bootstrapped = []step{
	{"what bootstrap refuses", (*story).bootstrapRefuses},
	{"bootstrap again", (*story).bootstrapAgain},
	{"configurations that fit", (*story).configurationsFit},
	{"new tokens", (*story).bootstrapRenews},
	{"the way back", (*story).bootstrapRemoves},
}

// refused demands that bootstrap with these words refuses, says this, and changes nothing.
func (s *story) refused(ctx context.Context, what, says string, words ...string) error {
	before, err := s.versions(ctx)
	if err != nil {
		return err
	}
	said, err := s.pair.CallBootstrap(ctx, append([]string{"--out", filepath.Join(s.Dir, "refused"), "--yes", "hub-a"}, words...)...)
	if err == nil || !strings.Contains(said, says) {
		return fmt.Errorf("%s: %v, want %q in: %s", what, err, says, said)
	}
	if after, err := s.versions(ctx); err != nil || after != before {
		return fmt.Errorf("%s changed something (%v):\n%s\nbefore:\n%s", what, err, after, before)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "refused")); err == nil {
		return fmt.Errorf("%s: files were made", what)
	}
	s.fact("", "%s is refused, nothing is changed", what)
	return nil
}

// versions are the names and versions of all that understudy has on the hubs and the worker.
func (s *story) versions(ctx context.Context) (string, error) {
	var all strings.Builder
	for _, client := range []*kube.Client{s.a.Admin, s.b.Admin, s.worker} {
		for _, path := range []string{
			"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
			"/apis/rbac.authorization.k8s.io/v1/roles", "/apis/rbac.authorization.k8s.io/v1/rolebindings",
			"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
			"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/api/v1/serviceaccounts",
		} {
			list, err := client.Get(ctx, path)
			if err != nil {
				return "", err
			}
			for _, item := range list.List("items") {
				o := kube.Object(item.(map[string]any))
				name := o.Text("metadata", "name")
				if strings.HasPrefix(name, "understudy-") || strings.HasSuffix(name, "ha.kubeslice.io") {
					fmt.Fprintf(&all, "%s %s/%s %s\n", path[strings.LastIndex(path, "/")+1:], o.Text("metadata", "namespace"), name, o.Text("metadata", "resourceVersion"))
				}
			}
		}
	}
	return all.String(), nil
}

func (s *story) bootstrapRefuses(ctx context.Context) error {
	a, b := s.a.Cluster.Kubeconfig(), s.b.Cluster.Kubeconfig()
	pairOf := func(words ...string) []string {
		return append(words, "--project-namespace", pair.Project, "--kubeconfig", s.pair.Work.Kubeconfig(), "--worker", "worker-1=bed")
	}
	if err := s.refused(ctx, "one cluster under two names", "hub-a and hub-b are the same cluster",
		pairOf("--kubeconfig", a, "--hub", "hub-a=bed", "--hub", "hub-b=bed")...); err != nil {
		return err
	}
	if err := s.refused(ctx, "leaving a worker out", "hub-a: it serves worker worker-1, too, which no --worker names",
		"--kubeconfig", a, "--hub", "hub-a=bed", "--kubeconfig", b, "--hub", "hub-b=bed"); err != nil {
		return err
	}
	// The publisher is somebody, and no administrator.
	text, err := os.ReadFile(filepath.Join(s.pair.Output(), "hub-b/credentials/publisher.kubeconfig"))
	if err != nil {
		return err
	}
	publisher := filepath.Join(s.Dir, "publisher.kubeconfig")
	if err := os.WriteFile(publisher, text, 0o600); err != nil {
		return err
	}
	if err := s.refused(ctx, "a caller without the right to ask who the cluster is", "hub-b: kubectl: Error from server (Forbidden)",
		pairOf("--kubeconfig", a, "--hub", "hub-a=bed", "--kubeconfig", publisher, "--hub", "hub-b=hub-b")...); err != nil {
		return err
	}
	elector := strings.Replace(publisher, "publisher", "elector", 1)
	if text, err = os.ReadFile(filepath.Join(s.pair.Output(), "hub-b/credentials/elector.kubeconfig")); err != nil {
		return err
	}
	if err := os.WriteFile(elector, text, 0o600); err != nil {
		return err
	}
	if err := s.refused(ctx, "a caller who may not do everything", "hub-b: who context hub-b is may not do everything there",
		pairOf("--kubeconfig", a, "--hub", "hub-a=bed", "--kubeconfig", elector, "--hub", "hub-b=hub-b")...); err != nil {
		return err
	}
	if err := s.refused(ctx, "a context that is none", "hub-b: kubectl: error: ",
		pairOf("--kubeconfig", a, "--hub", "hub-a=bed", "--hub", "hub-b=nobody")...); err != nil {
		return err
	}
	gone := filepath.Join(s.Dir, "gone.kubeconfig")
	if text, err = os.ReadFile(b); err != nil {
		return err
	}
	if err := os.WriteFile(gone, bytes.Replace(text, []byte(s.b.Cluster.URL()), []byte("https://127.0.0.1:1"), 1), 0o600); err != nil {
		return err
	}
	return s.refused(ctx, "a server that is not there", "hub-b: kubectl: ",
		pairOf("--kubeconfig", a, "--hub", "hub-a=bed", "--kubeconfig", gone, "--hub", "hub-b=bed")...)
}

var webhooksOf = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingwebhookconfigurations"}

// bootstrapAgain runs it while hub-a leads: only what is missing is made, and nobody is disturbed.
func (s *story) bootstrapAgain(ctx context.Context) error {
	edited := filepath.Join(s.pair.Output(), "hub-b/understudy.yaml")
	text, err := os.ReadFile(edited)
	if err != nil {
		return err
	}
	text = append(text, "# a person's\n"...)
	if err := os.WriteFile(edited, text, 0o600); err != nil {
		return err
	}
	missing := filepath.Join(s.pair.Output(), "hub-b/credentials/peer-syncer.kubeconfig")
	if err := os.Remove(missing); err != nil {
		return err
	}
	// KubeSlice's webhook, which nobody answers for while its controller does not run (H5).
	if _, err := s.b.Admin.Create(ctx, webhooksOf.Path("", ""), kube.Object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "kubeslice"},
		"webhooks": []any{map[string]any{"name": "slice.example.com", "failurePolicy": "Fail", "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/"},
			"rules": []any{map[string]any{"apiGroups": []any{"controller.kubeslice.io"}, "apiVersions": []any{"*"},
				"operations": []any{"*"}, "resources": []any{"sliceconfigs"}}}}},
	}); err != nil {
		return err
	}
	before, err := s.versions(ctx)
	if err != nil {
		return err
	}
	pids, closed := s.undisturbed(s.a), s.steady()
	said, err := s.pair.RunBootstrap(ctx, s.pair.Output())
	disturbed := closed()
	if err != nil {
		return err
	}
	if after, err := s.versions(ctx); err != nil || after != before {
		return fmt.Errorf("objects were changed (%v):\n%s\nbefore:\n%s", err, after, before)
	}
	if after := s.undisturbed(s.a); disturbed != nil || after != pids {
		return fmt.Errorf("hub-a was disturbed: processes %s, before %s, %w", after, pids, disturbed)
	}
	for _, want := range []string{"edited and stays", "hub-b: understudy-peer-syncer of hub-a, proven", "hub-b: kubeslice does not judge the mirror's copies",
		"hub-a: understudy-elector of hub-a works and stays", "HubRole: Leading"} {
		if !strings.Contains(said, want) {
			return fmt.Errorf("it does not say %q: %s", want, said)
		}
	}
	if now, err := os.ReadFile(edited); err != nil || !bytes.Equal(now, text) {
		return fmt.Errorf("what a person edited was replaced (%v)", err)
	}
	if _, err := os.Stat(missing); err != nil {
		return err
	}
	s.fact("", "bootstrap again, while hub-a leads: only the missing credential is made, no object is changed, nobody disturbed")
	if err := s.write(ctx, func() error {
		_, err := s.a.Admin.Merge(ctx, kube.SliceConfigs.Path(pair.Project, "green"), kube.Object{"metadata": map[string]any{"annotations": map[string]any{"past": "webhook"}}})
		return err
	}); err != nil {
		return err
	}
	if _, err := until(ctx, 2*patience, 50*time.Millisecond, func() bool {
		o, err := s.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "green"))
		return err == nil && o.Text("metadata", "annotations", "past") == "webhook"
	}); err != nil {
		return fmt.Errorf("the mirror does not come past KubeSlice's webhook: %w", err)
	}
	s.fact("hub-b", "the mirror comes past a webhook of KubeSlice's that nobody answers for (H5)")
	return nil
}

// configurationsFit checks those of the running machines against each other.
func (s *story) configurationsFit(ctx context.Context) error {
	a, b, w := s.a.Config(), s.b.Config(), s.pair.Worker.Config()
	for _, two := range [][2]string{{a, b}, {b, a}, {a, w}, {w, b}} {
		if _, err := s.ctl(ctx, s.a, 0, "it fits "+two[1], "check-config", two[0], "--pair", two[1]); err != nil {
			return err
		}
	}
	if _, err := s.ctl(ctx, s.a, 1, "self: hub-a here, hub-a there; expected each hub once", "check-config", a, "--pair", a); err != nil {
		return err
	}
	for _, c := range []struct {
		other, says string
		code        int
	}{
		{b, `"fits": true`, 0}, {a, `"self: hub-a here, hub-a there; expected each hub once (H14)"`, 1},
	} {
		if _, err := s.ctl(ctx, s.a, c.code, c.says, "check-config", a, "--pair", c.other, "-o", "json"); err != nil {
			return err
		}
	}
	s.fact("", "the configurations of both hubs and of the worker fit; one hub twice does not")
	said, err := s.ctl(ctx, s.a, 0, "pair ", "check-config", a, "--pair", b)
	if err != nil {
		return err
	}
	sums := regexp.MustCompile(`(?m)^pair ([0-9a-f]{4}(?:-[0-9a-f]{4}){3}) (\S+)$`).FindAllStringSubmatch(said, -1)
	if len(sums) != 2 || sums[0][1] != sums[1][1] || sums[0][2] != a || sums[1][2] != b {
		return fmt.Errorf("want one sum, of %s and of %s, in:\n%s", a, b, said)
	}
	s.fact("", "what two operators compare over the phone is one sum of both files: %s", sums[0][1])
	// Upstream's flags and its variable, as understudyd's loader takes them.
	for _, c := range []struct {
		variable, says string
		code           int
		words          []string
	}{
		{"", "configuration ok", 0, []string{"--ha-lease-duration", "20s", "--ha-padding-seconds=6s"}},
		{"", `--ha-mode: mode: \"stanby\" is none of the choices`, 2, []string{"--ha-mode=stanby"}},
		{"", "self: hub-b here, hub-b there", 2, []string{"--ha-identity=hub-b", "--ha-mode", "standby", "--pair", b}},
		{"elsewhere", "namespace: elsewhere here, kubeslice-controller there", 2, []string{"--pair", b}},
		{"elsewhere", "it fits " + b, 0, []string{"--pair", b, "--ha-lease-namespace", pair.Namespace}},
	} {
		command := exec.CommandContext(ctx, filepath.Join(s.Root, "build/understudyd"), append([]string{"-n", "--config", a}, c.words...)...)
		command.Env = append(os.Environ(), "KUBESLICE_CONTROLLER_MANAGER_NAMESPACE="+c.variable)
		out, _ := command.CombinedOutput()
		if code := command.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			return fmt.Errorf("understudyd -n %v: exit code %d, want %d and %q in: %s", c.words, code, c.code, c.says, out)
		}
	}
	s.fact("hub-a", "upstream's flags and its variable override keys of the file")
	return nil
}

// bootstrapRenews makes new tokens for a running pair.
func (s *story) bootstrapRenews(ctx context.Context) error {
	file := "credentials/elector.kubeconfig"
	was, err := os.ReadFile(filepath.Join(s.pair.Output(), "hub-a", file))
	if err != nil {
		return err
	}
	said, err := s.pair.RunBootstrap(ctx, s.pair.Output(), "--renew")
	if err != nil {
		return err
	}
	now, err := os.ReadFile(filepath.Join(s.pair.Output(), "hub-a", file))
	if err != nil {
		return err
	}
	if bytes.Equal(was, now) || strings.Count(said, ", proven at ") != 13 {
		return fmt.Errorf("not all tokens are new: %s", said)
	}
	for _, text := range [][]byte{was, now} {
		_, token, _ := bytes.Cut(text, []byte("token: "))
		if strings.Contains(said, string(bytes.TrimSpace(token))) {
			return fmt.Errorf("a token was printed")
		}
	}
	pids, closed := s.undisturbed(s.a), s.steady()
	for _, role := range []string{"elector", "publisher", "peer-observer", "worker-1"} {
		text, err := os.ReadFile(filepath.Join(s.pair.Output(), "hub-a/credentials", role+".kubeconfig"))
		if err == nil {
			err = replace(filepath.Join(filepath.Dir(s.a.Config()), role+".kubeconfig"), text)
		}
		if err != nil {
			return err
		}
	}
	for _, line := range []string{"elector: elector", "publisher: publisher", "peer-observer: observer", "worker worker-1: repointer/0"} {
		if _, err := logged(ctx, s.a.Log(), "credential "+line+" uses generation 2", patience); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	if disturbed, after := closed(), s.undisturbed(s.a); disturbed != nil || after != pids {
		return fmt.Errorf("hub-a was disturbed: processes %s, before %s, %w", after, pids, disturbed)
	}
	s.fact("hub-a", "13 new tokens, each proven; the running processes took theirs over, the page was never closed")
	return nil
}

// bootstrapRemoves ends understudy everywhere and takes everything back.
func (s *story) bootstrapRemoves(ctx context.Context) error {
	for _, h := range []*pair.Hub{s.a, s.b, &s.pair.Worker.Hub} {
		h.Daemon().End(syscall.SIGTERM, patience)
	}
	said, err := s.pair.RunBootstrap(ctx, s.pair.Output(), "--remove")
	if err != nil {
		return err
	}
	if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
		left, err := s.versions(ctx)
		said = left
		return err == nil && left == ""
	}); err != nil {
		return fmt.Errorf("%w: this is left: %s", err, said)
	}
	if _, err := s.b.Admin.Get(ctx, leasePath); err == nil {
		return fmt.Errorf("the Lease of hub-b is left")
	}
	o, err := s.b.Admin.Get(ctx, webhooksOf.Path("", "kubeslice"))
	if err != nil {
		return err
	}
	if text, _ := json.Marshal(o); bytes.Contains(text, []byte("understudy-not-the-syncer")) {
		return fmt.Errorf("KubeSlice's webhook does not judge the syncer still: %s", text)
	}
	entries, err := os.ReadDir(s.pair.Output())
	if err != nil || len(entries) != 1 {
		return fmt.Errorf("of the output folder %v is left (%v), want what a person has edited, in hub-b", entries, err)
	}
	s.fact("", "bootstrap --remove: no right, policy, kind or Lease is left, and of the files only what a person has edited")
	return nil
}
