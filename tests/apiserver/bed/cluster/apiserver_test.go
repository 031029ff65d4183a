//go:build apiserver

// Goal: real control planes start, break and come back as the tests on top of them believe, and
// nothing is left when their owner dies. Method: build/kubebed and build/bed, which tools/kubebed.sh
// and tools/bed.sh make; the waits end on a condition, with a deadline.
package cluster

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"understudy.test/bed/kube"
)

const build = "../../../../build/"

func options(t *testing.T, names ...string) Options {
	t.Helper()
	launcher, err := filepath.Abs(build + "bed")
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Dir: filepath.Join(t.TempDir(), "bed"), Kubebed: build + "kubebed", Launcher: launcher,
		Names: names, Owner: os.Getpid(),
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func up(t *testing.T, o Options) *Bed {
	t.Helper()
	b, err := Up(within(t, upTime), o)
	must(t, err)
	t.Cleanup(func() { Down(o.Dir, false) })
	return b
}

func client(t *testing.T, c *Cluster) *kube.Client {
	t.Helper()
	k, err := c.Client()
	must(t, err)
	t.Cleanup(k.Close)
	return k
}

func apply(t *testing.T, k *kube.Client, pattern string) {
	t.Helper()
	files, _ := filepath.Glob(pattern)
	if len(files) == 0 {
		t.Fatalf("no file %s", pattern)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		_, err = k.ApplyAll(within(t, time.Minute), string(text), "default", map[string]string{"N": "kubeslice-controller"})
		must(t, err)
	}
}

func TestAClusterHoldsTheSampleStateAndComesBackFromEveryFault(t *testing.T) {
	c := up(t, options(t, "hub-a")).Clusters[0]
	k, ctx := client(t, c), within(t, 8*time.Minute)
	apply(t, k, "../../crds/*.yaml")
	apply(t, k, "../../samples/hub-objects.yaml")

	// The token controller fills the Secret, and its token has the rights of the role, no more.
	secret := kube.Secrets.Path("kubeslice-cisco", "kubeslice-rbac-worker-worker-1")
	for o, err := k.Get(ctx, secret); o.Text("data", "token") == ""; o, err = k.Get(ctx, secret) {
		must(t, err)
		must(t, ctx.Err())
	}
	token, err := k.Token(ctx, "kubeslice-cisco", "kubeslice-rbac-worker-worker-1", time.Hour)
	must(t, err)
	worker, err := kube.New(k.Server, k.CA, kube.User{Token: token})
	must(t, err)
	if _, err := worker.Get(ctx, kube.Clusters.Path("kubeslice-cisco", "worker-1")); err != nil {
		t.Errorf("the worker reads its Cluster: %v", err)
	}
	if _, err := worker.Get(ctx, kube.Namespaces.Path("", "")); !kube.IsCode(err, http.StatusForbidden) {
		t.Errorf("the worker lists namespaces: %v, want 403", err)
	}

	must(t, c.Pause(APIServer))
	if _, err := k.Get(within(t, 500*time.Millisecond), secret); err == nil {
		t.Error("a paused API server answers")
	}
	must(t, c.Resume(APIServer))
	if _, err := k.Get(ctx, secret); err != nil {
		t.Errorf("after the pause: %v", err)
	}

	must(t, c.Snapshot("before"))
	must(t, k.Delete(ctx, secret))
	must(t, c.Kill(ControlPlane...))
	if c.Running(Etcd) || c.Running(APIServer) || c.Running(Controllers) {
		t.Error("killed parts run")
	}
	must(t, c.Start(ControlPlane...))
	must(t, c.Await(ctx, APIServer))
	if _, err := k.Get(ctx, secret); !kube.IsCode(err, http.StatusNotFound) {
		t.Errorf("a deletion before the kill: %v, want 404", err)
	}
	must(t, c.Restore("before"))
	must(t, c.Await(ctx, APIServer))
	if _, err := k.Get(ctx, secret); err != nil {
		t.Errorf("what the snapshot held: %v", err)
	}

	cluster := kube.Clusters.Path("kubeslice-cisco", "worker-1")
	before, err := k.Get(ctx, cluster)
	must(t, err)
	must(t, c.Backup(ctx, "ahead"))
	must(t, k.Delete(ctx, cluster))
	must(t, c.RestoreAhead("ahead"))
	must(t, c.Await(ctx, APIServer))
	read := func(path string) (o kube.Object, err error) {
		for o, err = k.Get(ctx, path); kube.IsCode(err, http.StatusTooManyRequests); o, err = k.Get(ctx, path) {
			kube.Pause(ctx, 100*time.Millisecond) // it still fills its caches
		}
		return o, err
	}
	after, err := read(cluster)
	if err != nil || after.ResourceVersion() != before.ResourceVersion() {
		t.Errorf("what the backup held: %v, version %s, not %s", err, after.ResourceVersion(), before.ResourceVersion())
	}
	list, err := read(kube.Clusters.Path("kubeslice-cisco", ""))
	if version, _ := strconv.Atoi(list.ResourceVersion()); err != nil || version < 1000000000 {
		t.Errorf("the list after a restore that raises versions is of version %s, %v", list.ResourceVersion(), err)
	}
}

func TestACutLinkSilencesAHubAndNothingElse(t *testing.T) {
	o := options(t, "hub-a", "hub-b")
	o.Isolated = []string{"hub-a"}
	b := up(t, o)
	a, other := b.Clusters[0], b.Clusters[1]
	readyz := func(server *Cluster, from *Cluster) error {
		argv := append(from.Enter(), b.Kubebed, "kubectl", "--kubeconfig", server.Kubeconfig(), "--request-timeout=10s",
			"get", "--raw", "/readyz")
		return exec.CommandContext(within(t, time.Minute), argv[0], argv[1:]...).Run()
	}
	for _, pair := range [][2]*Cluster{{a, a}, {a, other}, {other, a}, {other, other}} {
		if err := readyz(pair[0], pair[1]); err != nil {
			t.Errorf("%s from %s: %v", pair[0].Name, pair[1].Name, err)
		}
	}
	must(t, a.Cut())
	if readyz(a, other) == nil || readyz(other, a) == nil {
		t.Error("the cut link carries something")
	}
	if err := readyz(a, a); err != nil {
		t.Errorf("inside the cut hub: %v", err)
	}
	must(t, a.Heal())
	must(t, a.Await(within(t, upTime), APIServer))
	if other.Cut() == nil {
		t.Error("a hub without a namespace was cut")
	}
}

func TestNothingIsLeftWhenTheOwnerDies(t *testing.T) {
	owner := exec.Command("sleep", "600")
	must(t, owner.Start())
	defer owner.Wait()
	o := options(t, "hub-a")
	o.Owner = owner.Process.Pid
	b := up(t, o)
	if _, err := Up(within(t, upTime), o); err == nil {
		t.Error("a second bed in the same folder")
	}
	must(t, owner.Process.Kill())
	ctx := within(t, time.Minute)
	for {
		_, dataErr := os.Stat(b.Data)
		_, err := Open(b.Dir)
		if os.IsNotExist(dataErr) && err != nil && len(marked(b.Dir)) == 0 {
			break
		}
		if !kube.Pause(ctx, 50*time.Millisecond) {
			t.Fatalf("left: %v, data %v, bed %v", marked(b.Dir), dataErr, err)
		}
	}
	if _, err := os.Stat(b.Clusters[0].Log(APIServer)); err != nil {
		t.Errorf("the logs are gone: %v", err)
	}
}
