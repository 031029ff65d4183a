package pair

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"

	"understudy.test/bed/kube"
)

// Status is what understudyctl prints as JSON.
func (h *Hub) Status(ctx context.Context) (kube.Object, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(h.pair.Root, "build/understudyctl"),
		"--socket", h.StatusSocket(), "status", "-o", "json").Output()
	if err != nil {
		return nil, err
	}
	var o kube.Object
	return o, json.Unmarshal(out, &o)
}

// Armed says whether the hub could be promoted now: armed and its mirror complete, by its own word.
func (h *Hub) Armed(ctx context.Context) bool {
	o, err := h.Status(ctx)
	if err != nil {
		return false
	}
	armed, _ := o.Get("leadership", "armed").(bool)
	complete, _ := o.Get("leadership", "complete").(bool)
	return armed && complete
}
