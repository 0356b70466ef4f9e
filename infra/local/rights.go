package local

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"engang/infra/local/cloudformation"
	"engang/infra/local/front"
	"engang/infra/local/wire"
	"engang/infra/rights"
	"engang/shared/telemetry"
)

// A Use is one right that a call of a function needed.
type Use struct {
	rights.Use
	Function string // "receiver"
	Call     string // "W1 put event"; "" where the code gives it no name
	Allowed  bool
	Needs    []rights.Right // without any of which the call would have been refused
}

// String is the use in one line, as it can be told.
func (u Use) String() string { return u.Function + " (" + u.Call + "): " + u.Use.String() }

// A guard lets pass what the role of the calling function allows, and answers the rest as AWS does. What Lambda's event
// source does it does with the role of the function that it feeds. Calls of nobody's pass.
type guard struct {
	next    http.RoundTripper
	place   rights.Place
	roles   map[string]rights.Role // by function
	sources map[string]string      // the functions that queues feed, by ARN; written before anything is called
	tell    func(Use)
}

// guard reads the roles of the template's functions.
func (s *System) guard(next http.RoundTripper) (*guard, error) {
	place, err := rights.In(s.stack.template, region, front.Account)
	if err != nil {
		return nil, err
	}
	g := &guard{next: next, place: place, roles: map[string]rights.Role{}, sources: map[string]string{}, tell: s.o.OnUse}
	roles, err := s.Roles(s.stack.template)
	for id, role := range roles {
		g.roles[functionName(id)] = role
	}
	return g, err
}

// Roles reads the roles of another template for the parts of this system, by the logical ids of the functions.
func (s *System) Roles(t *cloudformation.Template) (map[string]rights.Role, error) {
	return rights.Read(t, s.stack)
}

func (g *guard) feed(queue, function string) { g.sources[queue] = function }

// RoundTrip sends a request, unless the caller's role refuses it.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
		r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	uses, err := g.place.Uses(r, body)
	if err != nil {
		return nil, err
	}
	function := g.caller(r, uses)
	if function == "" {
		return g.next.RoundTrip(r)
	}
	for _, u := range uses {
		if !g.allows(r, function, u) {
			return rights.Denied(r, g.who(function), u), nil
		}
	}
	answer, err := g.next.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusNotFound {
		return answer, err
	}
	for _, u := range uses { // S3 does not tell everybody that an object is not there
		if tells, ok := u.Tells(); ok && !g.allows(r, function, tells) {
			answer.Body.Close()
			return rights.Denied(r, g.who(function), u), nil
		}
	}
	return answer, nil
}

func (g *guard) allows(r *http.Request, function string, u rights.Use) bool {
	role := g.roles[function]
	ok := role.Allows(u)
	if g.tell != nil {
		g.tell(Use{u, function, telemetry.Call(r.Context()), ok, role.Needs(u)})
	}
	return ok
}

// caller is the function that a request is made by, or for.
func (g *guard) caller(r *http.Request, uses []rights.Use) string {
	if i := wire.From(r.Context()); i != nil {
		return i.Function
	}
	if len(uses) == 0 {
		return ""
	}
	return g.sources[uses[0].Resource]
}

// who is the name that AWS knows a function by.
func (g *guard) who(function string) string {
	return "arn:aws:sts::" + front.Account + ":assumed-role/" + g.roles[function].ID() + "/" + function
}

// functionName is the name of a function by its logical id: "ReceiverFunction" is the receiver.
func functionName(id string) string { return strings.ToLower(strings.TrimSuffix(id, "Function")) }
