// Package kube is a small client of a Kubernetes API server for the test bed: objects as JSON
// maps, one connection pool, a deadline on every request but watches. It is no part of the
// product, whose own client is in C, and must not be used to decide what the product does.
package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// What ends a request whose server accepts and then says nothing (a paused server), and a connection
// whose other end vanished: a busy machine takes its time for both, and is no fault.
const (
	requestTimeout   = 30 * time.Second
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 10 * time.Second
	pingAfter        = 3 * time.Second
	pingTimeout      = 10 * time.Second
)

// Content types of Patch.
const (
	MergePatch = "application/merge-patch+json"
	JSONPatch  = "application/json-patch+json"
	ApplyPatch = "application/apply-patch+yaml"
)

// Client talks to one API server as one user. Safe for use from any goroutine.
type Client struct {
	Server    string
	CA        []byte
	token     string
	http      *http.Client
	resources cache
}

// StatusError is an answer other than 2xx.
type StatusError struct {
	Code            int
	Reason, Message string
	Body            []byte
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Code, e.Reason, e.Message)
}

// IsCode says whether err is an answer with that HTTP status.
func IsCode(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Load makes a client of a kubeconfig that is written as this package writes them.
func Load(path string) (*Client, error) {
	server, ca, user, err := readKubeconfig(path)
	if err != nil {
		return nil, err
	}
	return New(server, ca, user)
}

// New makes a client; user may be empty for an anonymous one.
func New(server string, ca []byte, user User) (*Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s: the CA holds no certificate in PEM", server)
	}
	config := &tls.Config{RootCAs: roots}
	if len(user.Certificate) > 0 {
		pair, err := tls.X509KeyPair(user.Certificate, user.Key)
		if err != nil {
			return nil, fmt.Errorf("%s: client certificate: %w", server, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{
		TLSClientConfig:     config,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: handshakeTimeout,
		ForceAttemptHTTP2:   true,
		// A watch on a connection whose other end vanished without a word would wait for ever.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	return &Client{
		Server: strings.TrimSuffix(server, "/"), CA: ca, token: user.Token,
		http: &http.Client{Transport: transport},
	}, nil
}

// Elsewhere is a client with the same token on another server.
func (c *Client) Elsewhere(server string, ca []byte) (*Client, error) {
	return New(server, ca, User{Token: c.token})
}

// Behind is a client with the same token and CA at an address whose certificate is for that name.
func (c *Client) Behind(server, name string) (*Client, error) {
	client, err := New(server, c.CA, User{Token: c.token})
	if err == nil {
		client.http.Transport.(*http.Transport).TLSClientConfig.ServerName = name
	}
	return client, err
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends one request and returns the whole answer; path may carry a query. An answer other
// than 2xx is a *StatusError.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := c.send(ctx, method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	return io.ReadAll(reply.Body)
}

func (c *Client) send(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	reply, err := c.http.Do(request)
	if err != nil || reply.StatusCode/100 == 2 {
		return reply, err
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	return nil, statusError(reply.StatusCode, text)
}

func statusError(code int, text []byte) error {
	e := &StatusError{Code: code, Reason: http.StatusText(code), Message: string(text), Body: text}
	var status Object
	if json.Unmarshal(text, &status) == nil && status.Text("kind") == "Status" {
		e.Reason, e.Message = status.Text("reason"), status.Text("message")
	}
	return e
}

func (c *Client) object(ctx context.Context, method, path, contentType string, body []byte) (Object, error) {
	text, err := c.Do(ctx, method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	var o Object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return o, nil
}

// Get reads an object or a collection.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	return c.object(ctx, http.MethodGet, path, "", nil)
}

// Create posts an object to a collection, or to a subresource such as token.
func (c *Client) Create(ctx context.Context, path string, o Object) (Object, error) {
	return c.write(ctx, http.MethodPost, path, "application/json", o)
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, path string, o Object) (Object, error) {
	return c.write(ctx, http.MethodPut, path, "application/json", o)
}

// Merge sends a JSON merge patch.
func (c *Client) Merge(ctx context.Context, path string, patch Object) (Object, error) {
	return c.write(ctx, http.MethodPatch, path, MergePatch, patch)
}

// Patch sends a patch of any content type.
func (c *Client) Patch(ctx context.Context, path, contentType string, body []byte) (Object, error) {
	return c.object(ctx, http.MethodPatch, path, contentType, body)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, path string) error {
	_, err := c.Do(ctx, http.MethodDelete, path, "", nil)
	return err
}

func (c *Client) write(ctx context.Context, method, path, contentType string, o Object) (Object, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return c.object(ctx, method, path, contentType, body)
}

// Token asks for a token of a service account that is good for that long.
func (c *Client) Token(ctx context.Context, namespace, account string, life time.Duration) (string, error) {
	reply, err := c.Create(ctx, ServiceAccounts.Path(namespace, account, "token"), Object{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int64(life / time.Second)},
	})
	if err != nil {
		return "", err
	}
	return reply.Text("status", "token"), nil
}
