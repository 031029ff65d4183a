// Package hostile puts roles that turn hostile (tests/attack/live) on the Standby of a running pair,
// with their real credentials, links and descriptors, and holds what they reached against what the
// role table promises: nothing on a worker, nothing on the source, nothing outside the mirror, no
// promotion. The same hub takes over afterwards. It looks at API servers and logs, and must not
// believe what a hostile role says of itself, but for what it boasts of.
package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// patience is far beyond what is right; a busy machine is no fault.
const patience = 90 * time.Second

// Names are the clusters that a run needs.
var Names = []string{"hub-a", "hub-b", "worker-1", "worker-2"}

// Options of a run.
type Options struct {
	Root, Dir string
	Bed       *cluster.Bed
	Out       io.Writer
	Random    int // seconds of random requests
	Seed      uint64
}

type run struct {
	Options
	pair   *pair.Pair
	a, b   *pair.Hub
	folder string // of the programs and their orders
	begin  time.Time
	failed int
}

// Run runs everything and prints one line a check. The pair is returned also with an error; the
// caller closes it.
func Run(ctx context.Context, o Options) (*pair.Pair, error) {
	p, err := pair.New(o.Root, o.Dir, o.Bed, pair.FastLease)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, pair: p, a: p.Hubs[0], b: p.Hubs[1],
		folder: filepath.Join(o.Bed.Data, "hostile"), begin: time.Now()}
	for _, part := range []struct {
		name string
		run  func(*run, context.Context) error
	}{
		{"start", (*run).start}, {"secrets", (*run).secrets}, {"syncer", (*run).syncer}, {"monitor", (*run).monitor},
		{"dialer", (*run).dialer}, {"repointer", (*run).repointer}, {"failover", (*run).failOver},
	} {
		if err := part.run(r, ctx); err != nil {
			return p, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if r.failed > 0 {
		return p, fmt.Errorf("%d checks failed", r.failed)
	}
	return p, nil
}

// check prints one line; problem nil means that it holds.
func (r *run) check(problem error, format string, arguments ...any) {
	name := fmt.Sprintf(format, arguments...)
	if problem == nil {
		fmt.Fprintf(r.Out, "ok - hostile: %s (%.0f s)\n", name, time.Since(r.begin).Seconds())
		return
	}
	r.failed++
	fmt.Fprintf(r.Out, "not ok - hostile: %s: %s\n", name, strings.ReplaceAll(problem.Error(), "\n", "; "))
}

// stays asks for a while; the answer must be nil each time.
func stays(ctx context.Context, long time.Duration, ask func() error) error {
	end := time.Now().Add(long)
	for {
		if err := ask(); err != nil {
			return err
		}
		if time.Now().After(end) || !kube.Pause(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// install copies what make built, and the hostile ones over it, to where every uid may read.
func (r *run) install() error {
	if err := os.MkdirAll(filepath.Join(r.folder, "orders"), 0o755); err != nil {
		return err
	}
	for _, from := range []string{"build", "build/hostile"} {
		for _, name := range []string{"understudyd", "runner", "loader", "dialer", "observer", "elector",
			"syncer", "publisher", "repointer", "monitor"} {
			text, err := os.ReadFile(filepath.Join(r.Root, from, name))
			if from != "build" && os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(r.folder, name), text, 0o755); err != nil {
				return err
			}
		}
	}
	r.b.Programs = r.folder
	return nil
}

// start brings the pair up: hub-a leads, hub-b is armed and has the programs that may turn, each
// worker is a shard of its own and follows hub-a.
func (r *run) start(ctx context.Context) error {
	if err := r.install(); err != nil {
		return err
	}
	r.pair.ShardSize = 1
	if err := r.pair.Bootstrap(ctx); err != nil {
		return err
	}
	if err := r.a.Start(); err != nil {
		return err
	}
	if _, _, err := see.Page(ctx, r.a, true, patience); err != nil {
		return errors.Join(err, r.a.Fault())
	}
	if _, err := r.a.ApplySamples(ctx); err != nil {
		return err
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	for _, w := range r.pair.Workers {
		if err := see.Eventually(ctx, patience, func() error { return w.Join(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	r.check(errors.Join(r.armed(ctx), r.follow(ctx, r.a), r.delivered(ctx)), "hub-a leads, hub-b stands by, both workers follow")
	return nil
}

func (r *run) armed(ctx context.Context) error {
	return see.Eventually(ctx, patience, func() error {
		if err := r.b.Fault(); err != nil {
			return err
		}
		if !r.b.Armed(ctx) {
			return errors.New("hub-b is not armed and complete")
		}
		return nil
	})
}

// follow waits until both workers say themselves that they follow a hub.
func (r *run) follow(ctx context.Context, h *pair.Hub) error {
	var wrong []error
	for _, w := range r.pair.Workers {
		wrong = append(wrong, see.Eventually(ctx, patience, func() error {
			o, err := w.Admin.Get(ctx, pair.Controllers.Path("", "active"))
			if err == nil && (o.Text("spec", "identity") != h.Name || o.Text("status", "connectedEndpoint") != h.Cluster.URL()) {
				err = fmt.Errorf("%s is told %s and connected to %q", w.Name, o.Text("spec", "identity"), o.Text("status", "connectedEndpoint"))
			}
			return err
		}))
	}
	return errors.Join(wrong...)
}

// delivered waits until each hub has brought its token to each worker, the last thing that moves.
func (r *run) delivered(ctx context.Context) error {
	var wrong []error
	for _, w := range r.pair.Workers {
		for _, h := range r.pair.Hubs {
			wrong = append(wrong, see.Eventually(ctx, patience, func() error {
				o, err := w.Admin.Get(ctx, kube.Secrets.Path("kubeslice-system", "understudy-hub-"+h.Name))
				if err == nil && o.Text("data", "token") == "" {
					err = fmt.Errorf("%s has no token from %s", w.Name, h.Name)
				}
				return err
			}))
		}
	}
	return errors.Join(wrong...)
}

// leads waits until hub-a's page is open in a term: on a machine that is busy it may miss a renewal,
// which is no promotion of the other hub.
func (r *run) leads(ctx context.Context, term uint64) error {
	return see.Eventually(ctx, patience, func() error {
		if now, leads := see.Leading(r.a); !leads || now != term {
			return fmt.Errorf("hub-a's page is not open in term %d (%v, %d)", term, leads, now)
		}
		return nil
	})
}

// standsBy is nil while hub-b does not lead, on all that says so.
func (r *run) standsBy(ctx context.Context) error {
	if _, leads := see.Leading(r.b); leads {
		return errors.New("hub-b's page is open")
	}
	o, err := r.b.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
	if err == nil && o.Text("spec", "role") != "Standby" {
		err = fmt.Errorf("hub-b is %s", o.Text("spec", "role"))
	}
	lease, leaseErr := r.b.Admin.Get(ctx, kube.Leases.Path(pair.Namespace, "kubeslice-controller-ha"))
	if leaseErr == nil && lease.Text("spec", "holderIdentity") != "" {
		leaseErr = fmt.Errorf("hub-b's Lease is held by %s", lease.Text("spec", "holderIdentity"))
	}
	return errors.Join(err, leaseErr)
}

// The uids of roles, behind the hub's first one.
const (
	monitorUID   = 2
	observerUID  = 3
	syncerUID    = 5
	obsDialerUID = 10
	firstShard   = 32
)

// order gives hub-b's role orders, "" for none, and ends its process, so that the next one has them.
func (r *run) order(ctx context.Context, role, words string, uids ...int) error {
	path := filepath.Join(r.folder, "orders", role)
	err := os.Remove(path)
	if words != "" {
		err = os.WriteFile(path, []byte(words+"\n"), 0o644)
	}
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if err := r.end(ctx, uid); err != nil {
			return fmt.Errorf("%s: %w", role, err)
		}
	}
	return nil
}

// end kills the process of hub-b under a uid, once there is one.
func (r *run) end(ctx context.Context, uid int) error {
	return see.Eventually(ctx, patience, func() error {
		for _, role := range r.b.Roles() {
			if role.UID == r.b.UIDBase()+uid {
				return syscall.Kill(role.Pid, syscall.SIGKILL)
			}
		}
		return fmt.Errorf("nobody runs under uid %d of hub-b", uid)
	})
}

// logged is what hub-b's log says since a place in it, and the place where it ends.
func (r *run) logged(since int) string {
	text, _ := os.ReadFile(r.b.Log())
	return string(text[min(since, len(text)):])
}

// says waits for a text in the log, and returns the line that it is in.
func (r *run) says(ctx context.Context, since int, texts ...string) (string, error) {
	var line string
	err := see.Eventually(ctx, patience, func() error {
		for l := range strings.Lines(r.logged(since)) {
			has := true
			for _, text := range texts {
				has = has && strings.Contains(l, text)
			}
			if has {
				line = strings.TrimSpace(l)
				return nil
			}
		}
		return errors.Join(fmt.Errorf("hub-b's log does not say %q", texts), r.b.Fault())
	})
	return line, err
}
