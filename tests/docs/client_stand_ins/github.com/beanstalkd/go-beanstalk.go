// Package beanstalk stands in for go-beanstalk 0.2, which neither Debian nor npm has: of its calls those that the quick
// start makes, with the same names, arguments, results and errors.
package beanstalk

import (
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"time"
)

var (
	ErrBuried  = errors.New("buried")
	ErrTimeout = errors.New("timeout")
)

// ConnError has the error of a command, which errors.Is finds.
type ConnError struct {
	Op  string
	Err error
}

func (e ConnError) Error() string { return e.Op + ": " + e.Err.Error() }
func (e ConnError) Unwrap() error { return e.Err }

type Conn struct {
	c             *textproto.Conn
	used, watched string
}

type Tube struct {
	Conn *Conn
	Name string
}

type TubeSet struct {
	Conn *Conn
	Name string
}

func Dial(network, address string) (*Conn, error) {
	c, err := textproto.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &Conn{c, "default", "default"}, nil
}

func NewTube(c *Conn, name string) *Tube       { return &Tube{c, name} }
func NewTubeSet(c *Conn, name string) *TubeSet { return &TubeSet{c, name} }

// ask sends a command, and reads the values of its answer into those given.
func (c *Conn) ask(command, format string, values ...interface{}) error {
	op := strings.Fields(command)[0]
	if _, err := c.c.Cmd("%s", command); err != nil {
		return ConnError{op, err}
	}
	line, err := c.c.ReadLine()
	switch {
	case err != nil:
	case line == "BURIED":
		err = ErrBuried
	case line == "TIMED_OUT":
		err = ErrTimeout
	default:
		if _, err = fmt.Sscanf(line, format, values...); err != nil {
			err = errors.New("unknown response: " + line)
		}
	}
	if err != nil {
		return ConnError{op, err}
	}
	return nil
}

func (c *Conn) body(size int) ([]byte, error) {
	body := make([]byte, size+2)
	_, err := io.ReadFull(c.c.R, body)
	return body[:size], err
}

func seconds(d time.Duration) int { return int(d / time.Second) }

func (t *Tube) Put(body []byte, pri uint32, delay, ttr time.Duration) (id uint64, err error) {
	if t.Name != t.Conn.used {
		if err = t.Conn.ask("use "+t.Name, "USING"); err != nil {
			return
		}
		t.Conn.used = t.Name
	}
	line := fmt.Sprintf("put %d %d %d %d\r\n%s", pri, seconds(delay), seconds(ttr), len(body), body)
	err = t.Conn.ask(line, "INSERTED %d", &id)
	return
}

func (t *TubeSet) Reserve(timeout time.Duration) (id uint64, body []byte, err error) {
	if t.Name != t.Conn.watched {
		for _, command := range []string{"watch " + t.Name, "ignore " + t.Conn.watched} {
			if err = t.Conn.ask(command, "WATCHING"); err != nil {
				return
			}
		}
		t.Conn.watched = t.Name
	}
	var size int
	if err = t.Conn.ask(fmt.Sprintf("reserve-with-timeout %d", seconds(timeout)), "RESERVED %d %d", &id, &size); err == nil {
		body, err = t.Conn.body(size)
	}
	return
}

func (c *Conn) StatsJob(id uint64) (map[string]string, error) {
	var size int
	if err := c.ask(fmt.Sprintf("stats-job %d", id), "OK %d", &size); err != nil {
		return nil, err
	}
	body, err := c.body(size)
	stats := map[string]string{}
	for _, line := range strings.Split(string(body), "\n") {
		if pair := strings.SplitN(line, ": ", 2); len(pair) == 2 {
			stats[pair[0]] = pair[1]
		}
	}
	return stats, err
}

func (c *Conn) Delete(id uint64) error { return c.ask(fmt.Sprintf("delete %d", id), "DELETED") }

func (c *Conn) Release(id uint64, pri uint32, delay time.Duration) error {
	return c.ask(fmt.Sprintf("release %d %d %d", id, pri, seconds(delay)), "RELEASED")
}
