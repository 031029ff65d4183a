package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/demo"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// runDemo brings up clusters and a pair, tells the story, and takes all down unless it is to be
// kept. It is the demo, and with --check the test of the main job.
func runDemo(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	keep := flags.Bool("keep", false, "leave everything up at the end")
	check := flags.Bool("check", false, "print a line `ok - ...` for each fact, for a test")
	slow := flags.Bool("default-lease", false, "lease times 15s/10s/2s + 5s instead of 3s/2.5s/0.4s + 0.8s")
	disturb := flags.String("disturb", "", "kill processes at random moments: `roles`, or supervisor for hub-b's understudyd")
	seed := flags.Uint64("seed", 1, "of the moments and victims of --disturb")
	bench := flags.Bool("bench", false, "print figures instead of the story")
	only := flags.Bool("only-controller", false, "kill hub-a's understudyd alone and leave its API server up")
	containers := flags.Bool("containers", false, "each hub's understudyd is process 1 of a container, hub-b's in a user namespace")
	system := flags.String("systemd", "", "a folder with a Debian and the package installed: each hub's understudyd is run by systemd in one like it")
	changes := flags.Int("changes", 20, "how many changes the lag is the median of")
	objects := flags.Int("objects", 10000, "how many objects the largest mirror of --bench has")
	flags.Parse(args)
	begin := time.Now()
	o := demo.Options{Root: root(), Out: os.Stdout, Check: *check, Bench: *bench, OnlyController: *only, Containers: *containers, System: *system, Changes: *changes, Objects: []int{min(1000, *objects), *objects}, Lease: pair.FastLease}
	if *slow {
		o.Lease = pair.DefaultLease
	}
	switch *disturb {
	case "":
	case "roles", "supervisor":
		o.Disturb = disturber(*disturb == "supervisor", *seed)
	default:
		return usageError("--disturb wants roles or supervisor")
	}
	bed, err := standardBed(ctx, *dir, *keep)
	if err != nil {
		return err
	}
	o.Bed, o.Dir = bed, filepath.Join(bed.Dir, "pair")
	p, result, err := demo.Run(ctx, o, begin)
	if *keep && p != nil {
		lookAround(p, bed)
	} else {
		if p != nil {
			p.Close()
		}
		if downErr := cluster.Down(*dir, true); err == nil {
			err = downErr
		}
	}
	if err != nil {
		tails(o.Dir)
		return fmt.Errorf("FAILED: %w; logs: %s/*.log and %s/*/*.log", err, o.Dir, bed.Dir)
	}
	if *bench {
		return nil
	}
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	fmt.Printf("\n  mirror lag   %8d ms   a change on hub-a, sent until seen on hub-b\n", ms(result.Lag))
	fmt.Printf("  detection    %8.2f s    hub-a killed until hub-b claims its own Lease\n", result.Detection.Seconds())
	fmt.Printf("  promotion    %8d ms   the claim until the fence page is open\n", ms(result.Promotion))
	fmt.Printf("  re-pointing  %8d ms   the claim until worker-1 names hub-b\n\n", ms(result.Repointing))
	fmt.Printf("demo: passed in %.0f s, lag %d ms, detection %.2f s, promotion %d ms, re-pointing %d ms\n",
		result.Total.Seconds(), ms(result.Lag), result.Detection.Seconds(), ms(result.Promotion), ms(result.Repointing))
	return nil
}

// disturber kills, with SIGKILL and at random moments, each kind of role process on either hub, in
// an order drawn anew each time round; or hub-b's understudyd, which it then starts again, as
// systemd would.
func disturber(supervisor bool, seed uint64) func(context.Context, *pair.Pair) {
	random := rand.New(rand.NewPCG(seed, 0))
	var turns []string
	return func(ctx context.Context, p *pair.Pair) {
		for kube.Pause(ctx, time.Duration(200+random.IntN(800))*time.Millisecond) {
			if supervisor {
				p.Hubs[1].Restart()
				kube.Pause(ctx, 3*time.Second)
				continue
			}
			if len(turns) == 0 {
				turns = victims(random)
			}
			hub, name := p.Hubs[turns[0][0]-'0'], turns[0][1:]
			turns = turns[1:]
			for _, role := range hub.Roles() {
				if role.Name == name && syscall.Kill(role.Pid, syscall.SIGKILL) == nil {
					fmt.Printf("# SIGKILL %s of %s (pid %d)\n", name, hub.Name, role.Pid)
					break
				}
			}
		}
	}
}

// victims are all pairs of a hub's index and a program, in a random order.
func victims(random *rand.Rand) []string {
	var all []string
	for _, name := range []string{"runner", "elector", "observer", "syncer", "publisher", "repointer", "monitor", "dialer", "dialer"} {
		all = append(all, "0"+name, "1"+name)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// lookAround prints what works now, line by line; and how a hub that was killed comes back.
func lookAround(p *pair.Pair, bed *cluster.Bed) {
	fmt.Printf("\nEverything that was not killed is still up. To look around:\n")
	for _, h := range p.Hubs {
		if h.Fault() != nil {
			continue
		}
		for _, verb := range []string{"status", "history", "audit"} {
			fmt.Printf("  build/understudyctl --socket %s %s\n", h.StatusSocket(), verb)
		}
		fmt.Printf("  curl -s %s/metrics   # and the page for a browser: %[1]s/\n", h.HTTP())
		fmt.Printf("  build/kubectl --kubeconfig %s get sliceconfigs -A\n", h.Cluster.Kubeconfig())
	}
	fmt.Printf("  build/kubectl --kubeconfig %s get clustercontroller active\n", p.Work.Kubeconfig())
	for _, h := range p.Hubs {
		if h.Fault() == nil {
			continue
		}
		fmt.Printf("%s, which was killed, comes back as a Standby; what it alone had is archived, the rest is equal again.\nThat takes some seconds:\n", h.Name)
		fmt.Printf("  build/bed start --dir %s %s && build/understudyd --config %s &\n", bed.Dir, h.Name, h.Config())
		for _, verb := range []string{"status", "sync status", "sync diff"} {
			fmt.Printf("  build/understudyctl --socket %s %s\n", h.StatusSocket(), verb)
		}
		fmt.Printf("  PATH=build:$PATH build/understudyctl archive list --kubeconfig %s\n", h.Cluster.Kubeconfig())
	}
	fmt.Printf("To end it:\n  build/bed down --dir %s\n\n", bed.Dir)
}
