package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/fence"
)

const (
	fencePeriod  = 20 * time.Millisecond // how often the page is asked for a change
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// reconciler stands for a hub's own controllers in the demo: it watches every SliceConfig of its
// hub and, while the fence page says that the hub leads, notes in the object's status that this
// hub has seen this generation. It asks the page right before each write and writes nothing else.
type reconciler struct {
	hub, page string
	client    *kube.Client
	path      string

	mutex  sync.Mutex // guards all below
	fence  *fence.Page
	leads  bool
	relist context.CancelFunc
	done   map[string]int64  // uid -> the generation that we wrote for
	passed map[string]string // uid -> the version that we let pass as a standby
}

func reconcile(ctx context.Context, flags *flag.FlagSet, args []string) error {
	kubeconfig := kubeconfigFlag(flags)
	hub := flags.String("hub", "", "`name` of the hub, written into each status")
	page := flags.String("fence", "", "the fence page's `path`; it need not be there yet")
	flags.Parse(args)
	if *hub == "" || *page == "" || *kubeconfig == "" {
		return usageError("want --kubeconfig, --hub and --fence")
	}
	client, err := kube.Load(*kubeconfig)
	if err != nil {
		return err
	}
	log.SetOutput(os.Stdout)
	log.SetFlags(log.Ldate | log.Ltime | log.Lmicroseconds | log.LUTC | log.Lmsgprefix)
	log.SetPrefix(*hub + " ")
	r := &reconciler{
		hub: *hub, page: *page, client: client, path: kube.SliceConfigs.Path("", ""),
		done: map[string]int64{}, passed: map[string]string{}, relist: func() {},
	}
	go r.follow(ctx)
	r.run(ctx)
	return nil
}

// run lists and watches until the context ends, however often the server goes away.
func (r *reconciler) run(ctx context.Context) {
	for backoff := firstBackoff; ctx.Err() == nil; {
		turn, cancel := context.WithCancel(ctx)
		r.mutex.Lock()
		r.relist = cancel
		r.mutex.Unlock()
		listed := func(all []kube.Object) error {
			backoff = firstBackoff
			for _, o := range all {
				if err := r.seen(turn, o); err != nil {
					return err
				}
			}
			return nil
		}
		err := r.client.ListWatch(turn, r.path, listed, func(e kube.Event) error {
			if e.Type == "ADDED" || e.Type == "MODIFIED" {
				return r.seen(turn, e.Object)
			}
			return nil
		})
		kicked := turn.Err() != nil
		cancel()
		if kicked {
			continue
		}
		log.Printf("list and watch again in %v: %v", backoff, err)
		kube.Pause(ctx, backoff)
		backoff = min(2*backoff, lastBackoff)
	}
}

// follow notes each change of leadership, and kicks: a hub that begins to lead lists anew, for
// what it let pass as a standby will not come by itself.
func (r *reconciler) follow(ctx context.Context) {
	for kube.Pause(ctx, fencePeriod) {
		term, leads := r.leading()
		r.mutex.Lock()
		changed, relist := leads != r.leads, r.relist
		r.leads = leads
		r.mutex.Unlock()
		if !changed {
			continue
		}
		if !leads {
			log.Printf("not leading any more")
			continue
		}
		log.Printf("leading, term %d", term)
		relist()
	}
}

// leading asks the page, and opens it when it is not open or was replaced.
func (r *reconciler) leading() (term uint64, ok bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.fence != nil {
		if term, ok := r.fence.Term(); ok {
			return term, true
		}
		if !r.fence.Replaced() {
			return 0, false
		}
		r.fence.Close()
	}
	r.fence, _ = fence.Open(r.page) // not there yet: the next asking tries again
	if r.fence == nil {
		return 0, false
	}
	return r.fence.Term()
}

// seen handles one sight of an object. An error ends the watch: the next list shows it again.
func (r *reconciler) seen(ctx context.Context, o kube.Object) error {
	term, leads := r.leading()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !leads {
		if r.passed[o.UID()] != o.ResourceVersion() {
			log.Printf("standby mode, skipping write: SliceConfig %s generation %d", o.Key(), o.Generation())
		}
		r.passed[o.UID()] = o.ResourceVersion()
		return nil
	}
	if r.done[o.UID()] >= o.Generation() {
		return nil
	}
	r.mutex.Unlock()
	err := r.write(ctx, o)
	r.mutex.Lock()
	if kube.IsCode(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write SliceConfig %s: %w", o.Key(), err)
	}
	r.done[o.UID()] = o.Generation()
	log.Printf("reconciled SliceConfig %s generation %d term %d", o.Key(), o.Generation(), term)
	return nil
}

// write puts this hub's one entry into status.kubesliceEvents, in place of its older one. The
// version in the patch makes a write on old sight a conflict; then the object is read again.
func (r *reconciler) write(ctx context.Context, o kube.Object) error {
	path := kube.SliceConfigs.Path(o.Namespace(), o.Name())
	for {
		patch := kube.Object{
			"metadata": map[string]any{"resourceVersion": o.ResourceVersion()},
			"status":   map[string]any{"kubesliceEvents": r.events(o)},
		}
		if _, leads := r.leading(); !leads {
			return errors.New("the fence closed")
		}
		_, err := r.client.Merge(ctx, path+"/status", patch)
		if !kube.IsCode(err, http.StatusConflict) {
			return err
		}
		if o, err = r.client.Get(ctx, path); err != nil {
			return err
		}
	}
}

func (r *reconciler) events(o kube.Object) []any {
	identifier := "reconciled-by-" + r.hub
	var events []any
	for _, e := range o.List("status", "kubesliceEvents") {
		if m, ok := e.(map[string]any); ok && m["identifier"] == identifier {
			continue
		}
		events = append(events, e)
	}
	return append(events, map[string]any{
		"identifier": identifier,
		"type":       "Success",
		"event":      "SliceReconciled",
		"reason":     fmt.Sprintf("generation %d", o.Generation()),
		"timestamp":  time.Now().UTC().Format(time.RFC3339),
	})
}
