package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"understudy.test/bed/cluster"
	"understudy.test/bed/rights"
)

// checkRights brings up two hubs and a worker without any understudyd and asks what each identity
// may do there, one line a check.
func checkRights(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	flags.Parse(args)
	bed, err := standardBed(ctx, *dir, false)
	if err != nil {
		return err
	}
	err = rights.Run(ctx, rights.Options{Root: root(),
		Dir: filepath.Join(bed.Dir, "pair"), Bed: bed, Out: os.Stdout})
	if downErr := cluster.Down(*dir, err != nil); err == nil {
		err = downErr
	}
	return err
}
