package kube

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

// User is how a client proves who it is: a certificate with its key, or a token.
type User struct {
	Certificate, Key []byte // PEM
	Token            string
}

// Kubeconfig is the text of a kubeconfig with everything in it, so that it can be moved.
func Kubeconfig(server string, ca []byte, user User) []byte {
	encode := Base64
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Config\nclusters:\n- name: bed\n  cluster:\n")
	fmt.Fprintf(&b, "    server: %s\n    certificate-authority-data: %s\n", server, encode(ca))
	fmt.Fprintf(&b, "users:\n- name: bed\n  user:\n")
	if user.Token != "" {
		fmt.Fprintf(&b, "    token: %s\n", user.Token)
	} else {
		fmt.Fprintf(&b, "    client-certificate-data: %s\n", encode(user.Certificate))
		fmt.Fprintf(&b, "    client-key-data: %s\n", encode(user.Key))
	}
	fmt.Fprintf(&b, "contexts:\n- name: bed\n  context:\n    cluster: bed\n    user: bed\n")
	fmt.Fprintf(&b, "current-context: bed\n")
	return b.Bytes()
}

// Base64 is how a kubeconfig holds certificates and keys.
func Base64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// readKubeconfig reads what Kubeconfig writes: one cluster, one user, all inline, a key a line.
func readKubeconfig(path string) (server string, ca []byte, user User, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, User{}, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "- "), ":")
		if ok && fields[key] == "" {
			fields[key] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	decode := func(key string) []byte {
		data, decodeErr := base64.StdEncoding.DecodeString(fields[key])
		if decodeErr != nil && err == nil {
			err = fmt.Errorf("%s: %s: %w", path, key, decodeErr)
		}
		return data
	}
	ca = decode("certificate-authority-data")
	user = User{decode("client-certificate-data"), decode("client-key-data"), fields["token"]}
	if err == nil && (fields["server"] == "" || len(ca) == 0) {
		err = fmt.Errorf("%s: want a kubeconfig with server and certificate-authority-data", path)
	}
	return fields["server"], ca, user, err
}
