# python3 worker.py: does the jobs of the tube "mail", one after the other.
import greenstalk


def send(body, attempt):
    """Stands for your work. It raises when it fails."""
    if attempt == 1:
        raise RuntimeError("the mail server is busy")
    if body == "to nobody":
        raise RuntimeError("nobody has that name")


queue = greenstalk.Client(("127.0.0.1", 11300), watch="mail")
while True:
    job = queue.reserve()
    attempt = queue.stats_job(job)["reserves"]
    try:
        send(job.body, attempt)
        queue.delete(job)
        print(f"job {job.id}, attempt {attempt}: sent {job.body}", flush=True)
    except RuntimeError as failure:
        print(f"job {job.id}, attempt {attempt}: {failure}", flush=True)
        try:
            queue.release(job)  # The tube's back-off says when it comes back.
        except greenstalk.BuriedError:
            print(f"job {job.id}, no tries left", flush=True)
