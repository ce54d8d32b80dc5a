"""The official grader, for what makes golden values of it: openai/prm800k at 7ecc794."""
import logging
import os
import signal
import sys
import warnings


class Late(BaseException):
    pass


def late(*_):
    raise Late


def load(folder):
    """The grader below the folder of openai/prm800k, which becomes the working directory."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.chdir(folder + "/prm800k")
    sys.path.insert(0, os.getcwd())
    from grading import grader
    signal.signal(signal.SIGALRM, late)
    return grader


def grade(grader, seconds, said, wanted):
    """What the grader makes of an answer; None: it takes longer."""
    signal.alarm(seconds)
    try:
        return bool(grader.grade_answer(said, wanted))
    except Late:
        return None
    finally:
        signal.alarm(0)
