package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// single lets a worker know one hub only: whatever the hubs do, nothing is different from a worker
// without understudy (W1).
func (r *run) single(ctx context.Context) error {
	leads, other, err := r.leader(ctx)
	if err != nil {
		return err
	}
	w := r.workers[2]
	both, err := os.ReadFile(w.Config())
	if err != nil {
		return err
	}
	one, err := without(string(both), r.b)
	if err != nil {
		return err
	}
	if err := r.restart(w, one); err != nil {
		return err
	}
	r.check("a worker with one hub in its list is handed that one (W1)", see.Eventually(ctx, patience, func() error {
		if w.Workload() == 0 {
			return errors.New("its command does not run")
		}
		return handedOnly(w, r.a)
	}))
	started := starts(w)
	leads.Kill()
	if err := r.role(ctx, other, "Leading"); err != nil {
		return err
	}
	r.check("the hub that takes the lead names itself there, too", see.Eventually(ctx, patience, func() error {
		_, err := told(ctx, w, other)
		return err
	}))
	r.check("and the worker stays, its command runs on, the hub's question is not answered (W1)", stays(ctx, 3*time.Second, func() error {
		if starts(w) != started {
			return errors.New("its command was started anew")
		}
		return errors.Join(handedOnly(w, r.a), unanswered(ctx, w, other), w.Fault())
	}))
	if err := leads.Start(); err != nil {
		return err
	}
	if err := r.armed(ctx, leads); err != nil {
		return err
	}
	if err := r.restart(w, string(both)); err != nil {
		return err
	}
	r.check("with both hubs in its list again it follows the one that leads", r.allFollow(ctx, r.workers, other))
	return nil
}

// without is a worker's configuration with one hub less in its list; an error when it was not there.
func without(text string, h *pair.Hub) (string, error) {
	var b strings.Builder
	dropped := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "- {name: "+h.Name+",") {
			dropped++
			continue
		}
		b.WriteString(line)
	}
	if dropped != 1 {
		return "", fmt.Errorf("%d lines of the configuration list %s", dropped, h.Name)
	}
	return b.String(), nil
}

// restart starts a worker anew with another configuration.
func (r *run) restart(w *pair.Worker, text string) error {
	w.Kill()
	if err := os.WriteFile(w.Config(), []byte(text), 0o600); err != nil {
		return err
	}
	return w.Start()
}

// unanswered is nil when a hub has asked a worker and its last question has no answer.
func unanswered(ctx context.Context, w *pair.Worker, h *pair.Hub) error {
	o, err := w.Admin.Get(ctx, pair.Probes.Path("", h.Name))
	if kube.IsCode(err, 404) {
		return fmt.Errorf("%s has never asked", h.Name)
	}
	if err == nil && o.Text("spec", "nonce") == o.Text("status", "nonce") {
		err = fmt.Errorf("the question of %s is answered: %v", h.Name, o.Get("status"))
	}
	return err
}
