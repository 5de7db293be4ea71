// go run put.go BODY: puts a job into the tube "mail".
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

func main() {
	queue, err := beanstalk.Dial("tcp", "127.0.0.1:11300")
	if err != nil {
		log.Fatal(err)
	}
	id, err := beanstalk.NewTube(queue, "mail").Put([]byte(os.Args[1]), 1024, 0, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("job", id)
}
