package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/leader"
	"understudy.test/bed/pair"
)

// tryLeader brings up a pair whose hubs have networks of their own, tries to break its leadership,
// one line a check, and takes all down.
func tryLeader(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := leader.Options{Root: root(), Out: os.Stdout, Lease: pair.FastLease, Threshold: 3800 * time.Millisecond}
	dir := dirFlag(flags)
	flags.BoolVar(&o.Quick, "quick", false, "only the situations that take seconds, also before random faults")
	flags.StringVar(&o.Only, "only", "", "only the situations whose names match this `expression`")
	flags.IntVar(&o.Faults, "faults", 0, "so many random faults instead of the situations")
	flags.DurationVar(&o.For, "for", 0, "random faults for so long instead of the situations")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the random faults")
	flags.DurationVar(&o.Longest, "longest", time.Minute, "how long a random fault lasts at most")
	flags.IntVar(&o.Failovers, "bench", 0, "print figures of so many crash failovers instead")
	flags.Parse(args)
	if flags.NArg() != 0 {
		return usageError("no arguments are wanted")
	}
	if err := cluster.Down(*dir, false); err != nil {
		return err
	}
	clusters := cluster.Options{Dir: *dir, Launcher: beside("bed"), Kubebed: beside("kubebed"), Owner: os.Getpid(),
		Names: []string{"hub-a", "hub-b", "worker-1"}, Isolated: []string{"hub-a", "hub-b"}}
	if o.Failovers > 0 {
		var err error
		if clusters.FlagsOf, err = leader.AuditFlags(*dir); err != nil {
			return err
		}
	}
	bed, err := cluster.Up(ctx, clusters)
	if err != nil {
		return err
	}
	o.Bed, o.Dir = bed, filepath.Join(bed.Dir, "pair")
	p, err := leader.Run(ctx, o)
	if p != nil {
		p.Close()
	}
	if downErr := cluster.Down(*dir, err != nil); err == nil {
		err = downErr
	}
	if err != nil {
		notOK("leader", err, o.Dir)
	}
	return err
}

// write is the writer beside a hub in the runs above.
func write(ctx context.Context, flags *flag.FlagSet, args []string) error {
	kubeconfig := kubeconfigFlag(flags)
	hub := flags.String("hub", "", "`name` of the hub")
	page := flags.String("fence", "", "the fence page's `path`; it need not be there yet")
	flags.Parse(args)
	if *hub == "" || *page == "" || *kubeconfig == "" {
		return usageError("want --kubeconfig, --hub and --fence")
	}
	client, err := kube.Load(*kubeconfig)
	if err != nil {
		return err
	}
	return leader.Write(ctx, client, *hub, *page, os.Stdout)
}
