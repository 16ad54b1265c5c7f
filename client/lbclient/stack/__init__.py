"""The local stack: Triton and the evaluator as processes that outlive the command."""
