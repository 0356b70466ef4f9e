package capture

import (
	"fmt"
	"net/http"
	"strings"
)

// What curl's options are called, short and long.
var (
	longOf = map[byte]string{
		'X': "request", 'H': "header", 'd': "data", 'A': "user-agent", 'e': "referer", 'b': "cookie", 'u': "user", 'm': "max-time", 'o': "output",
		'F': "form", 'T': "upload-file", 'x': "proxy", 'w': "write-out", 'G': "get", 'I': "head", 'K': "config", 'c': "cookie-jar", 'E': "cert",
	}
	// takesValue are the options that are followed by something; those with true mean nothing here.
	takesValue = map[string]bool{
		"request": false, "header": false, "data": false, "data-ascii": false, "data-raw": false, "data-binary": false, "json": false, "url": false,
		"user-agent": false, "referer": false, "cookie": false, "user": true, "max-time": true, "connect-timeout": true, "output": true, "proxy": true,
		"write-out": true, "retry": true, "retry-delay": true, "cacert": true, "cert": true, "key": true, "resolve": true, "cookie-jar": true,
		"form": false, "form-string": false, "upload-file": false, "data-urlencode": false, "config": false, "url-query": false,
	}
	// makes are options by which curl makes the body, or puts it elsewhere, in a way that the command does not show.
	makes = map[string]bool{"form": true, "form-string": true, "upload-file": true, "data-urlencode": true, "config": true, "url-query": true, "get": true}
)

// parseCurl reads a command as browsers and tools write it.
func parseCurl(line string) (Request, error) {
	r := Request{Format: Curl}
	args, err := words(line)
	if err != nil {
		return r, err
	}
	c := &command{Request: r, args: args[1:]}
	for len(c.args) > 0 {
		if err := c.one(); err != nil {
			return c.Request, err
		}
	}
	return c.finished()
}

// A command is a curl command while it is read.
type command struct {
	Request
	args []string
	data []string
	sent bool // there is data, perhaps empty
	json bool
	head bool
}

// one takes one argument, with its value if it has one.
func (c *command) one() error {
	arg := c.args[0]
	c.args = c.args[1:]
	switch {
	case arg == "-" || !strings.HasPrefix(arg, "-"):
		return c.address(arg)
	case strings.HasPrefix(arg, "--"):
		name, value, attached := strings.Cut(arg[2:], "=")
		_, takes := takesValue[name]
		if takes && !attached {
			return c.following(name)
		}
		return c.option(name, value)
	}
	for i := 1; i < len(arg); i++ {
		name := longOf[arg[i]]
		if _, takes := takesValue[name]; !takes {
			if err := c.option(name, ""); err != nil {
				return err
			}
			continue
		}
		if rest := arg[i+1:]; rest != "" {
			return c.option(name, rest)
		}
		return c.following(name)
	}
	return nil
}

// following is an option whose value is the next argument.
func (c *command) following(name string) error {
	if len(c.args) == 0 {
		return fmt.Errorf("the command ends in an option that needs a value: %w", ErrFormat)
	}
	value := c.args[0]
	c.args = c.args[1:]
	return c.option(name, value)
}

func (c *command) address(text string) error {
	if c.Target != "" {
		return fmt.Errorf("the command has more than one address, or a value that is not quoted: %w", ErrFormat)
	}
	c.Target = text
	return nil
}

func (c *command) option(name, value string) error {
	switch {
	case makes[name]:
		c.sent, c.Elsewhere = true, true
	case name == "request":
		c.Method = value
	case name == "url":
		return c.address(value)
	case name == "header":
		return c.header(value)
	case name == "user-agent":
		return c.add("User-Agent", value)
	case name == "referer":
		return c.add("Referer", value)
	case name == "head":
		c.head = true
	case name == "json":
		c.json = true
		c.body(name, value)
	case strings.HasPrefix(name, "data"):
		c.body(name, value)
	}
	return nil // the rest changes how curl sends, not what
}

// header reads one as curl does: "Name: value"; "Name;" for an empty one; "Name:" for none.
func (c *command) header(text string) error {
	if strings.HasPrefix(text, "@") {
		return fmt.Errorf("the command reads its headers from a file: %w", ErrFormat)
	}
	name, value, ok := strings.Cut(text, ":")
	switch {
	case !ok && strings.HasSuffix(text, ";"):
		return c.add(strings.TrimSuffix(text, ";"), "")
	case ok && strings.Trim(value, " \t") == "":
		return nil
	}
	return c.add(name, value)
}

func (c *command) body(name, value string) {
	c.sent = true
	if strings.HasPrefix(value, "@") && name != "data-raw" {
		c.Elsewhere = true
		return
	}
	c.data = append(c.data, value)
}

func (c *command) finished() (Request, error) {
	if c.Target == "" && len(c.Headers) == 0 {
		return c.Request, fmt.Errorf("the command has neither address nor headers: %w", ErrFormat)
	}
	join := "&"
	if c.json {
		join = ""
	}
	c.Body = []byte(strings.Join(c.data, join))
	if c.Method == "" {
		c.Method = http.MethodGet
		switch {
		case c.sent:
			c.Method = http.MethodPost
		case c.head:
			c.Method = http.MethodHead
		}
	}
	if c.sent && c.Header().Get("Content-Type") == "" {
		kind := "application/x-www-form-urlencoded"
		if c.json {
			kind = "application/json"
		}
		c.Headers = append(c.Headers, Header{"Content-Type", kind})
	}
	return c.Request, nil
}
