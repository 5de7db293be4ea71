// go run worker.go: does the jobs of the tube "mail", one after the other.
package main

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

// send stands for your work.
func send(body, attempt string) error {
	if attempt == "1" {
		return errors.New("the mail server is busy")
	}
	if body == "to nobody" {
		return errors.New("nobody has that name")
	}
	return nil
}

func main() {
	queue, err := beanstalk.Dial("tcp", "127.0.0.1:11300")
	if err != nil {
		log.Fatal(err)
	}
	mail := beanstalk.NewTubeSet(queue, "mail")
	for {
		id, body, err := mail.Reserve(time.Hour)
		if errors.Is(err, beanstalk.ErrTimeout) {
			continue
		}
		if err != nil {
			log.Fatal(err) // What keeps the worker running starts it again.
		}
		if err := work(queue, id, string(body)); err != nil {
			log.Fatal(err)
		}
	}
}

func work(queue *beanstalk.Conn, id uint64, body string) error {
	stats, err := queue.StatsJob(id)
	if err != nil {
		return err
	}
	failure := send(body, stats["reserves"])
	if failure == nil {
		err = queue.Delete(id)
		fmt.Printf("job %d, attempt %s: sent %s\n", id, stats["reserves"], body)
		return err
	}
	fmt.Printf("job %d, attempt %s: %v\n", id, stats["reserves"], failure)
	err = queue.Release(id, 1024, 0) // The tube's back-off says when it comes back.
	if errors.Is(err, beanstalk.ErrBuried) {
		fmt.Printf("job %d, no tries left\n", id)
		return nil
	}
	return err
}
