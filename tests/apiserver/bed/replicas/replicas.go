// Package replicas runs three understudyds in mode replicas before one real API server and breaks
// what can break: the holder is killed, stopped, frozen; the API server goes away; a client-go
// program and a person write the Lease. Everything is seen from outside: pages, the Lease, what
// HTTP clients are told, and a log into which each workload writes while it runs.
package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

const namespace = "replicas"

// The fast profile (interfaces, decision 11).
const (
	duration      = 3 * time.Second
	renewDeadline = 2500 * time.Millisecond
	retryPeriod   = 400 * time.Millisecond
	patience      = 60 * time.Second // far beyond what is right; a busy machine is no fault
)

var leasePath = kube.Leases.Path(namespace, "understudy-replicas")

// Options of a run.
type Options struct {
	Root, Dir string // of the repository; for configurations and logs
	Bed       *cluster.Bed
	Out       io.Writer
	Begin     time.Time
}

type suite struct {
	Options
	hub      *cluster.Cluster
	admin    *kube.Client
	replicas [3]*replica
	writes   string   // what the workloads write into
	wrote    []string // "replica term" of each holder that was seen to write
}

// Run does all steps; the first that fails is the error.
func Run(ctx context.Context, o Options) (err error) {
	s := &suite{Options: o}
	defer func() {
		for _, r := range s.replicas {
			if r != nil {
				r.kill()
			}
		}
	}()
	if err := s.open(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(*suite, context.Context) error
	}{
		{"a configuration that is for hubs", (*suite).foreignKeys},
		{"a holder that runs client-go", (*suite).stranger},
		{"one leads", (*suite).oneLeads},
		{"rights", (*suite).rights},
		{"SIGTERM", (*suite).terminated},
		{"SIGKILL", (*suite).killed},
		{"its elector killed", (*suite).electorKilled},
		{"SIGSTOP", (*suite).frozen},
		{"an edited holder", (*suite).edited},
		{"a deleted Lease", (*suite).deleted},
		{"an outage", (*suite).outage},
		{"the write log", (*suite).writeLog},
		{"standalone", (*suite).standalone},
	} {
		if err := step.run(s, ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (s *suite) fact(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	fmt.Fprintf(s.Out, "%7.2f  %s\n", time.Since(s.Begin).Seconds(), text)
	fmt.Fprintf(s.Out, "ok - replicas: %s\n", text)
}

// open installs the rights and writes three configurations, and starts nothing.
func (s *suite) open(ctx context.Context) (err error) {
	if s.hub, err = s.Bed.Cluster("hub"); err != nil {
		return err
	}
	if s.admin, err = s.hub.Client(); err != nil {
		return err
	}
	p := &pair.Pair{Root: s.Root}
	if _, err := s.admin.ApplyAll(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n", "default", nil); err != nil {
		return err
	}
	if err := p.Apply(ctx, s.admin, map[string]string{"N": namespace}, "policy/rbac/replicas.yaml"); err != nil {
		return err
	}
	s.writes = filepath.Join(s.Bed.Data, "writes")
	base := pair.FreeUIDs(len(s.replicas))
	for i := range s.replicas {
		if s.replicas[i], err = s.newReplica(ctx, i, base); err != nil {
			return err
		}
	}
	return nil
}

// leader waits until exactly one replica leads, and returns it and when that was first seen.
func (s *suite) leader(ctx context.Context, patience time.Duration) (*replica, time.Time, error) {
	var found *replica
	at, err := until(ctx, patience, time.Millisecond, func() bool {
		found = s.leading()
		return found != nil
	})
	if err != nil {
		return nil, at, fmt.Errorf("nobody leads: %w", err)
	}
	return found, at, nil
}

// leading is the replica whose page is open now, nil when none is.
func (s *suite) leading() *replica {
	for _, r := range s.replicas {
		if _, ok := r.page(); ok {
			return r
		}
	}
	return nil
}

// nobody demands that no page is open for so long.
func (s *suite) nobody(ctx context.Context, span time.Duration) error {
	end := time.Now().Add(span)
	for time.Now().Before(end) {
		if r := s.leading(); r != nil {
			return fmt.Errorf("%s leads", r.name)
		}
		if !kube.Pause(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func (s *suite) lease(ctx context.Context) (kube.Object, error) { return s.admin.Get(ctx, leasePath) }

var errLate = errors.New("not seen in time")

func until(ctx context.Context, patience, period time.Duration, is func() bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if is() {
			return time.Now(), nil
		}
		if !kube.Pause(ctx, period) {
			return time.Now(), fmt.Errorf("%w (%v)", errLate, patience)
		}
	}
}
