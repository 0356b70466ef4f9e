package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/user"
	"strings"

	"engang/infra/engang/client"
	"engang/infra/engang/stack"
)

// usualPort is where `local` listens.
const usualPort = 8787

// connect finds what the commands speak to.
func (p *program) connect(ctx context.Context) (*client.Client, error) {
	name := p.targetName()
	c := &client.Client{HTTP: p.HTTP, Tenant: p.tenant, Environ: p.environment, Timeout: p.timeout}
	switch {
	case name == "" || name == "local":
		return p.onThisMachine(c, fmt.Sprintf("http://127.0.0.1:%d", usualPort)), nil
	case strings.Contains(name, "://"):
		u, err := url.Parse(name)
		if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
			return nil, usage("--target %q: an address must be of this machine (http://127.0.0.1:PORT); a deployed engang is named by its stack", name)
		}
		return p.onThisMachine(c, "http://"+u.Host), nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	found, err := stack.Find(ctx, p.HTTP, name)
	if err != nil {
		return nil, lookedUp(err)
	}
	p.deployed = found
	return p.toStack(found), nil
}

// targetName is what --target says, or the environment.
func (p *program) targetName() string {
	if p.target != "" {
		return p.target
	}
	return p.Getenv("ENGANG_TARGET")
}

// isHere tells a target on this machine from a stack.
func isHere(name string) bool { return name == "" || name == "local" || strings.Contains(name, "://") }

// lookedUp gives an error of a look for a stack its exit code.
func lookedUp(err error) error {
	for target, code := range map[error]int{stack.ErrNotFound: exitNotFound, stack.ErrOutput: exitNotFound, stack.ErrNotAllowed: exitNotAllowed, stack.ErrNoAnswer: exitNoAnswer} {
		if errors.Is(err, target) {
			return &failure{code, err}
		}
	}
	return err
}

func (p *program) onThisMachine(c *client.Client, address string) *client.Client {
	c.API, c.Hooks, c.As = address+"/api", address+"/hooks", p.as
	if c.As == "" {
		c.As = "local"
		if u, err := user.Current(); err == nil && u.Username != "" {
			c.As = u.Username
		}
	}
	return c
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// explain adds what to do to an error of a call.
func (p *program) explain(err error) error {
	if errors.Is(err, client.ErrNoAnswer) && strings.Contains(err.Error(), "in time") && p.acts {
		return fmt.Errorf("%w: whether it was done is unknown; look, or give the same command again", err)
	}
	if errors.Is(err, client.ErrNoAnswer) && p.deployed == nil && !strings.Contains(err.Error(), "in time") {
		return fmt.Errorf("%w. Is it running? Start it with: %s local, or name another --target", err, p.Command)
	}
	return err
}

// announce says on which stack a writing command is about to act, and asks. Nothing is asked on this
// machine's own.
func (p *program) announce(ctx context.Context) error {
	p.sayWhere()
	return p.agree(ctx)
}

// connectToAct connects for a command that writes, and announces it.
func (p *program) connectToAct(ctx context.Context) (*client.Client, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c, p.announce(ctx)
}

// sayWhere is the first line of a writing command on a stack.
func (p *program) sayWhere() {
	if p.deployed != nil {
		fmt.Fprintf(p.Stderr, "stack %s, account %s, region %s\n", p.deployed.Name, p.deployed.Account, p.deployed.Region)
	}
}

// agree asks before a stack is written to: a person on a terminal, --yes in a script.
func (p *program) agree(ctx context.Context) error {
	p.acts = true
	switch {
	case p.deployed == nil, p.yes:
		return nil
	case p.Confirm != nil && p.Confirm(ctx, "Go on?"):
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	}
	return usage("this writes to a deployed stack: say --yes")
}
