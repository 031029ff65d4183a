package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/hostile"
)

// checkHostile brings up two hubs and two workers, lets single roles of the Standby turn hostile, and
// takes all down.
func checkHostile(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := hostile.Options{Root: root(), Out: os.Stdout}
	dir := dirFlag(flags)
	keep := flags.Bool("keep", false, "leave everything up at the end")
	flags.IntVar(&o.Random, "random", 60, "so many `seconds` of random requests")
	flags.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "of the random requests")
	flags.Parse(args)
	bed, err := newBed(ctx, *dir, *keep, cluster.Options{Names: hostile.Names})
	if err != nil {
		return err
	}
	o.Bed, o.Dir = bed, filepath.Join(bed.Dir, "pair")
	p, err := hostile.Run(ctx, o)
	if err != nil {
		notOK("hostile", err, o.Dir)
	}
	if *keep {
		return err
	}
	if p != nil {
		p.Close()
	}
	if downErr := cluster.Down(*dir, err != nil); err == nil {
		err = downErr
	}
	return err
}
