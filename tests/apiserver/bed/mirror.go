package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"understudy.test/bed/cluster"
	"understudy.test/bed/mirror"
)

// checkMirror brings up a pair and holds the mirror against its rules, one line a check. One of the
// two API servers has no WatchList: what is read from it comes as paged lists.
func checkMirror(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	verbs := flags.Bool("verbs", false, "only what an operator does with it: sync, archive")
	kinds := flags.Bool("kinds", false, "only mirror.kinds, mirror.skip and mirror.namespaces")
	bare := flags.Bool("bare", false, "only two hubs without KubeSlice and without workers")
	soak := flags.Int("soak", 0, "only break that `many` requests while the source changes, then compare")
	part := flags.String("part", "", "only that `part`, by its name in the output")
	seed := flags.Uint64("seed", 1, "of the faults")
	flags.Parse(args)
	o := cluster.Options{Names: []string{"hub-a", "hub-b", "worker-1"},
		FlagsOf: map[string][]string{"hub-a": {"--feature-gates=WatchList=false"}}}
	if *bare {
		o.Names = o.Names[:2]
	}
	bed, err := newBed(ctx, *dir, false, o)
	if err != nil {
		return err
	}
	err = mirror.Run(ctx, mirror.Options{Root: root(),
		Dir: filepath.Join(bed.Dir, "pair"), Bed: bed, Out: os.Stdout, Verbs: *verbs, Kinds: *kinds, Bare: *bare, Soak: *soak, Seed: *seed, Part: *part})
	if err != nil {
		tails(filepath.Join(bed.Dir, "pair"))
	}
	if downErr := cluster.Down(*dir, err != nil); err == nil {
		err = downErr
	}
	return err
}
