package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Event is one line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK.
type Event struct {
	Type   string
	Object Object
}

// Watch calls each with every event of a collection after resourceVersion, until the context
// ends, each returns an error, or the watch does: the reason is returned, io.EOF for a watch
// that the server ended in good order, a *StatusError with code 410 for a version too old.
func (c *Client) Watch(ctx context.Context, path, resourceVersion string, each func(Event) error) error {
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"1"}, "resourceVersion": {resourceVersion}}
	reply, err := c.send(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	lines := json.NewDecoder(reply.Body)
	for {
		var event Event
		if err := lines.Decode(&event); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return err
		}
		if event.Type == "ERROR" {
			o := event.Object
			return &StatusError{Code: int(o.Int("code")), Reason: o.Text("reason"), Message: o.Text("message")}
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

// ListWatch lists a collection, calls listed with the whole list, then watches from there on.
func (c *Client) ListWatch(ctx context.Context, path string, listed func([]Object) error, each func(Event) error) error {
	list, err := c.Get(ctx, path)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if err := listed(list.Items()); err != nil {
		return err
	}
	if err := c.Watch(ctx, path, list.ResourceVersion(), each); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}
