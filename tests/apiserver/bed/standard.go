package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"understudy.test/bed/cluster"
)

// root is the repository's folder: this program lies in its build/.
func root() string { return filepath.Dir(filepath.Dir(beside("bed"))) }

// standardBed brings up two hubs and a worker in a folder, in place of what was there. It ends with
// this process, unless it is to be kept.
func standardBed(ctx context.Context, dir string, keep bool) (*cluster.Bed, error) {
	return newBed(ctx, dir, keep, cluster.Options{Names: []string{"hub-a", "hub-b", "worker-1"}})
}

// isolatedBed is the same with these clusters, each in a network namespace of its own.
func isolatedBed(ctx context.Context, dir string, keep bool, names []string) (*cluster.Bed, error) {
	return newBed(ctx, dir, keep, cluster.Options{Names: names, Isolated: names})
}

func newBed(ctx context.Context, dir string, keep bool, o cluster.Options) (*cluster.Bed, error) {
	owner := os.Getpid()
	if keep {
		owner = 0
	}
	if err := cluster.Down(dir, false); err != nil {
		return nil, err
	}
	// What kubectl keeps of a server, by its port, must not be of a cluster of another bed.
	path, err := filepath.Abs(filepath.Join(dir, "kubectl"))
	if err != nil {
		return nil, err
	}
	os.Setenv("KUBECACHEDIR", path)
	o.Dir, o.Owner, o.Launcher, o.Kubebed = dir, owner, beside("bed"), beside("kubebed")
	return cluster.Up(ctx, o)
}

// notOK is what is left of a failed part where only its output is kept.
func notOK(name string, err error, dir string) {
	fmt.Printf("not ok - %s: %v; logs: %s/*.log\n", name, err, dir)
	tails(dir)
}

// tails prints how each log in a folder ends.
func tails(dir string) {
	const lines = 12
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		all := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Printf("# %s\n# %s\n", filepath.Base(path), strings.Join(all[max(0, len(all)-lines):], "\n# "))
	}
}
