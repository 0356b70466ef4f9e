package cloudformation

import "fmt"

func (e evaluation) choose(arg any) (any, error) {
	parts, ok := arg.([]any)
	if !ok || len(parts) != 3 {
		return nil, fmt.Errorf("!If takes a condition and two values")
	}
	name, err := text(parts[0])
	if err != nil {
		return nil, err
	}
	holds, err := e.named(name)
	if err != nil {
		return nil, err
	}
	if holds {
		return e.value(parts[1])
	}
	return e.value(parts[2])
}

func (e evaluation) named(name string) (bool, error) {
	raw, ok := e.t.conditions[name]
	if !ok {
		return false, fmt.Errorf("condition %q: %w", name, ErrMissing)
	}
	v, err := e.value(raw)
	if err != nil {
		return false, fmt.Errorf("condition %q: %w", name, err)
	}
	holds, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("condition %q is neither true nor false", name)
	}
	return holds, nil
}

func (e evaluation) condition(c call) (any, error) {
	if c.name == "Condition" {
		name, err := text(c.arg)
		if err != nil {
			return nil, err
		}
		return e.named(name)
	}
	v, err := e.value(c.arg)
	if err != nil {
		return nil, err
	}
	parts, ok := v.([]any)
	if !ok || len(parts) == 0 {
		return nil, fmt.Errorf("!%s takes a list", c.name)
	}
	if c.name == "Equals" {
		return len(parts) == 2 && fmt.Sprint(parts[0]) == fmt.Sprint(parts[1]), nil
	}
	holds := c.name == "And"
	for _, part := range parts {
		b, ok := part.(bool)
		if !ok {
			return nil, fmt.Errorf("!%s of something that is neither true nor false", c.name)
		}
		switch c.name {
		case "Not":
			return !b, nil
		case "And":
			holds = holds && b
		case "Or":
			holds = holds || b
		}
	}
	return holds, nil
}
