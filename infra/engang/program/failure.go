package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"engang/infra/configfile"
	"engang/infra/engang/client"
	"engang/infra/engang/delivery"
	"engang/infra/engang/text"
	"engang/infra/local"
	"engang/infra/local/cloudformation"
	"engang/infra/local/faults"
	"engang/shared/config"
)

// The exit codes. They are a promise to scripts.
const (
	exitFailed     = 1 // the text says what, why and what to do
	exitUsage      = 2 // wrong usage or invalid file
	exitNotFound   = 3
	exitState      = 4 // refused by its state
	exitNotAllowed = 5
	exitNoAnswer   = 6 // the outcome is unknown; the same command may be given again
	exitFound      = 7 // checked, and found faults or differences
)

// A failure is an error with its exit code.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

// codes says which exit code an error has, judged from the top.
var codes = []struct {
	target error
	code   int
}{
	{client.ErrNoAnswer, exitNoAnswer},
	{context.DeadlineExceeded, exitNoAnswer},
	{delivery.ErrCase, exitUsage},
	{delivery.ErrTwist, exitUsage},
	{delivery.ErrEdit, exitUsage},
	{faults.ErrUnknown, exitUsage},
	{cloudformation.ErrNoTemplate, exitUsage},
	{local.ErrDataDir, exitUsage},
	{local.ErrDataInUse, exitUsage},
	{configfile.ErrNoFile, exitUsage},
	{configfile.ErrIrregular, exitUsage},
	{config.ErrChanged, exitState},
}

var statusCodes = map[int]int{
	http.StatusBadRequest: exitUsage, http.StatusMethodNotAllowed: exitUsage, http.StatusRequestEntityTooLarge: exitUsage,
	http.StatusUnauthorized: exitNotAllowed, http.StatusForbidden: exitNotAllowed,
	http.StatusNotFound: exitNotFound, http.StatusConflict: exitState, http.StatusUnprocessableEntity: exitUsage,
	http.StatusServiceUnavailable: exitNoAnswer, http.StatusGatewayTimeout: exitNoAnswer,
}

func exitCode(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	if p, ok := errors.AsType[*client.Problem](err); ok {
		if code, known := statusCodes[p.Status]; known {
			return code
		}
		if p.Type == client.FromGateway && p.Status >= http.StatusInternalServerError {
			return exitNoAnswer
		}
		return exitFailed
	}
	if _, ok := errors.AsType[configfile.Faults](err); ok {
		return exitUsage
	}
	for _, c := range codes {
		if errors.Is(err, c.target) {
			return c.code
		}
	}
	// What cobra itself refuses has no type of its own.
	for _, begin := range []string{"unknown command", "unknown flag", "unknown shorthand", "required flag", "invalid argument"} {
		if strings.HasPrefix(err.Error(), begin) {
			return exitUsage
		}
	}
	return exitFailed
}

// tell writes an error to stderr and returns its exit code.
func (p *program) tell(err error) int {
	code := exitCode(err)
	if p.asJSON() {
		raw, _ := json.Marshal(document(err, code)) // texts and numbers: it cannot fail
		fmt.Fprintln(p.Stderr, p.unsaid(string(raw)))
		return code
	}
	if faults, ok := errors.AsType[configfile.Faults](err); ok { // a line each, as editors and people read them
		fmt.Fprintf(p.Stderr, "%s\nengang: refused for %s; nothing was applied\n", strings.TrimSpace(err.Error()), text.Count(len(faults), "fault", "faults"))
		return code
	}
	fmt.Fprintln(p.Stderr, "engang:", p.unsaid(strings.TrimSpace(err.Error())))
	if code == exitUsage && !strings.Contains(err.Error(), "\n") {
		fmt.Fprintf(p.Stderr, "See: %s\n", strings.TrimSpace(p.Command+p.command+" --help"))
	}
	return code
}

// A refusalDocument is an RFC 9457 document with the exit code beside it.
type refusalDocument struct {
	client.Problem
	Exit   int        `json:"exit"`
	Faults []faultDoc `json:"faults,omitempty"` // of configuration files
}

// A faultDoc is one fault of a configuration file, or what is worth a look in it.
type faultDoc struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	At     string `json:"at"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

func faultDocs(faults configfile.Faults) []faultDoc {
	docs := []faultDoc{}
	for _, f := range faults {
		docs = append(docs, faultDoc{f.File, f.Line, f.At, f.Reason, f.Remedy})
	}
	return docs
}

var titles = map[int]string{
	exitFailed: "Failed", exitUsage: "Wrong usage", exitNotFound: "Not found", exitState: "Refused by its state", exitNotAllowed: "Not allowed", exitNoAnswer: "No answer",
	exitFound: "Found something",
}

func document(err error, code int) refusalDocument {
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return refusalDocument{Problem: *p, Exit: code}
	}
	if faults, ok := errors.AsType[configfile.Faults](err); ok {
		p := client.Problem{Type: "urn:engang:problem:refused-configuration", Title: "Configuration refused", Detail: text.Count(len(faults), "fault", "faults") + "; nothing was applied."}
		return refusalDocument{p, code, faultDocs(faults)}
	}
	kind := strings.ReplaceAll(strings.ToLower(titles[code]), " ", "-")
	return refusalDocument{Problem: client.Problem{Type: "urn:engang:problem:" + kind, Title: titles[code], Detail: err.Error()}, Exit: code}
}

func (p *program) writeJSON(doc any) error {
	e := json.NewEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}
