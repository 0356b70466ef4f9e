package local

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"engang/shared/problem"
)

// The front listens on this machine only, and believes whoever asks there. A browser on this machine asks
// too, for every page that it shows.
var (
	errHost = errors.New("the address must be 127.0.0.1, localhost or [::1]")
	errPage = errors.New("a page of another address may not ask here")
)

// foreign says why a request may come from a page of somebody else: one whose name was pointed at this
// machine has that name as its host, any other has its own address as its origin. A program sends neither.
func foreign(r *http.Request) error {
	if !ownName(r.Host) {
		return errHost
	}
	if slices.Contains([]string{"cross-site", "same-site"}, r.Header.Get("Sec-Fetch-Site")) {
		return errPage
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return errPage
		}
	}
	return nil
}

// ownName tells whether a host, with or without a port, is a name that only this machine has for itself.
func ownName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.Contains([]string{"127.0.0.1", "localhost", "::1", "[::1]"}, strings.ToLower(host))
}

// forbid answers a foreign request.
func forbid(w http.ResponseWriter, why error) {
	w.Header().Set("Content-Type", problem.ContentType)
	answer(w, http.StatusForbidden, problem.Problem{Type: "urn:engang:problem:foreign", Title: "Not from here", Status: http.StatusForbidden, Detail: "Nothing was done: " + why.Error() + "."})
}
