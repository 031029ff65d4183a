package pair

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"understudy.test/bed/cluster"
)

// Output is where bootstrap puts a folder for each machine.
func (p *Pair) Output() string { return filepath.Join(p.Dir, "bootstrap") }

// Bootstrap is what an operator does: KubeSlice's kinds are on the hubs, then understudyctl bootstrap.
func (p *Pair) Bootstrap(ctx context.Context) error {
	if err := p.installKinds(ctx); err != nil {
		return err
	}
	if err := p.run(ctx); err != nil {
		return err
	}
	return p.Place(ctx)
}

func (p *Pair) installKinds(ctx context.Context) error {
	var group sync.WaitGroup
	errs := make([]error, len(p.Hubs))
	for i, h := range p.Hubs {
		group.Go(func() { errs[i] = p.Apply(ctx, h.Admin, nil, "tests/apiserver/crds/*.yaml") })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Place takes bootstrap's output to where the pair's machines read it.
func (p *Pair) Place(ctx context.Context) error {
	// As late as can be: another pair chooses, too, and nobody runs under them before they are started.
	p.uids = FreeUIDs(len(p.bed.Clusters))
	for _, h := range p.Hubs {
		if err := h.Place(); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	for _, w := range p.Workers {
		if err := w.place(ctx); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	return nil
}

// run calls understudyctl bootstrap with the clusters' administrators.
func (p *Pair) run(ctx context.Context, more ...string) error {
	_, err := p.RunBootstrap(ctx, p.Output(), more...)
	return err
}

// RunBootstrap does it for another output folder, and returns what was printed.
func (p *Pair) RunBootstrap(ctx context.Context, output string, more ...string) (string, error) {
	argv := []string{"--out", output, "--yes", p.Hubs[0].Name, "--token-life", "24h"}
	add := func(option, name string, c *cluster.Cluster) {
		argv = append(argv, "--kubeconfig", c.Kubeconfig(), option, name+"=bed", "--ca", name+"="+c.CAFile())
	}
	for _, h := range p.Hubs {
		add("--hub", h.Name, h.Cluster)
	}
	if len(p.Workers) > 0 {
		argv = append(argv, "--project-namespace", Project)
	}
	for _, w := range p.Workers {
		add("--worker", w.Name, w.Cluster)
	}
	if p.Mirror != "" {
		argv = append(argv, "--mirror", p.Mirror)
	}
	said, err := p.CallBootstrap(ctx, append(argv, more...)...)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said), "\n")
		err = fmt.Errorf("understudyctl bootstrap: %w: %s", err, lines[len(lines)-1])
	}
	return said, err
}

// CallBootstrap calls it with these words and returns all that it printed.
func (p *Pair) CallBootstrap(ctx context.Context, words ...string) (string, error) {
	build := filepath.Join(p.Root, "build")
	command := exec.CommandContext(ctx, filepath.Join(build, "understudyctl"), append([]string{"bootstrap"}, words...)...)
	command.Env = []string{"PATH=" + build + ":" + os.Getenv("PATH"), "KUBECACHEDIR=" + filepath.Join(p.Dir, "kubectl"), p.bed.Mark()}
	said, err := command.CombinedOutput()
	return string(said), err
}
